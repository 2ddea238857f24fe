# cumind in a container, which trains into the folder that it is run in:
#   docker build -t cumind . && docker run --rm -v "$PWD:/runs" --user "$(id -u)" cumind train
# What newer processors have than ARCH is chosen at run time. Versions are those of Debian's stable release.
FROM debian:bookworm-slim AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends check gcc libc6-dev libcjson-dev libdnnl-dev libevent-dev libgif-dev libjs-dygraphs libmd-dev libsubunit-dev \
       libxxhash-dev libzstd-dev make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
ARG ARCH=x86-64-v3
RUN make -j"$(nproc)" ARCH="$ARCH" MPICC= build/cumind && strip build/cumind

FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libcjson1 libdnnl2 libevent-core-2.1-7 libgif7 libgomp1 libmd0 libxxhash0 libzstd1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home --home-dir /runs cumind
COPY --from=build /source/build/cumind /usr/local/bin/cumind
COPY LICENSE /usr/local/share/doc/cumind/LICENSE
USER 1000
WORKDIR /runs
ENTRYPOINT ["cumind"]
CMD ["train"]
