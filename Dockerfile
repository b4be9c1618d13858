# Weir in a container: docker build -t weir . && \
#   docker run --rm -p 1935:1935 -p 8080:8080 -p 8000:8000/udp -p 8000:8000 -e WEIR_CANDIDATE=ADDRESS weir
# ADDRESS is where browsers reach this machine; without it WebRTC offers the container's own.
# The configuration is /opt/weir/conf/weir.conf; mount another one over it. From outside the container publishing needs
# a line such as `security { allow publish 192.168.0.0/16; }` there, since every peer is a remote one.

FROM debian:12 AS build
WORKDIR /weir
COPY scripts/install-deps.sh scripts/
COPY trunk/www/package.json trunk/www/package-lock.json trunk/www/
# --demo brings the libraries of the pages.
RUN scripts/install-deps.sh --demo
COPY . .
RUN ./configure --tests=off && make && strip --strip-debug -o objs/weir.stripped objs/weir

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends libssl3 libfmt9 libsrtp2-1 libavcodec59 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --home-dir /opt/weir --shell /usr/sbin/nologin weir
WORKDIR /opt/weir
COPY --from=build /weir/objs/weir.stripped objs/weir
COPY --from=build /weir/objs/www objs/www
COPY --from=build /weir/conf conf
USER weir
EXPOSE 1935 8080 8000/udp 8000
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/weir/objs/weir"]
CMD ["-c", "conf/weir.conf"]
