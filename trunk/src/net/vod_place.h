// Where sessions find the recordings that can be played: they are made before what has these.
#pragma once

namespace weir::net {

class VodLibrary;

class VodPlace {
  public:
    // Null: nothing is played.
    VodLibrary* library() const { return library_; }

    void set(VodLibrary* library) { library_ = library; }

  private:
    VodLibrary* library_ = nullptr;
};

}  // namespace weir::net
