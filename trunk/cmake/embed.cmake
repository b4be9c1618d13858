# cmake -DIN=FILE -DOUT=FILE.cc -DHEADER=HEADER -DFUNCTION=NAME -P embed.cmake: a text file as a function of weir::app
# that gives its text.
file(READ ${IN} text)
file(WRITE ${OUT} "#include \"${HEADER}\"\n\nnamespace weir::app {\n\nstd::string_view ${FUNCTION}() {\n    return R\"weir(${text})weir\";\n}\n\n}  // namespace weir::app\n")
