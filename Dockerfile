# Weir in a container:
#   docker build -t weir .
#   docker run --rm -p 1935:1935 -p 8080:8080 -p 8000:8000/udp -p 8000:8000 -p 8554:8554 -p 10080:10080/udp \
#     -e WEIR_CANDIDATE=ADDRESS -e WEIR_VHOST_SECURITY_PUBLISH_KEY=A-LONG-SECRET weir
# ADDRESS is where browsers reach this machine; without it WebRTC offers the container's own. Who shows the key may publish;
# without a key or a rule nobody may, since every peer of a container is a remote one. Any directive comes from the
# environment (WEIR_LISTEN and so on, doc/configuration.md), or from files mounted into /etc/weir/conf.d/ (doc/operations.md).
# `docker kill --signal=QUIT` drains, `docker stop` ends at once. scripts/chroot-test --only docker runs these steps.

FROM debian:12 AS build
WORKDIR /weir
COPY scripts/install-deps.sh scripts/
COPY trunk/www/package.json trunk/www/package-lock.json trunk/www/
# --demo brings the libraries of the pages.
RUN scripts/install-deps.sh --demo
COPY . .
RUN ./configure --tests=off && make
RUN PREFIX=/usr DESTDIR=/out CONFIG=/weir/conf/docker.conf scripts/install

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libssl3 libfmt9 libsrtp2-1 libhiredis0.14 libyaml-0-2 zlib1g libavcodec59 libsrt1.5-openssl && rm -rf /var/lib/apt/lists/*
RUN useradd --system --create-home --home-dir /var/lib/weir --shell /usr/sbin/nologin weir
COPY --from=build /out/ /
USER weir
WORKDIR /var/lib/weir
EXPOSE 1935 8080 8000/udp 8000 8554 8556-8557/udp 10080/udp
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/1985 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q '200 OK' <&3"]
ENTRYPOINT ["/usr/bin/weir"]
CMD ["-c", "/etc/weir/weir.conf"]
