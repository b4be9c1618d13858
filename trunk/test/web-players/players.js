// Starts each web player in the same way: PLAYERS[name].start(video, url, { low, settings, error }) plays `url` and gives
//   behind()    seconds since the shown frame arrived at the server, null while the player does not know
//   levels()    the number of qualities
//   choose(n)   plays only quality n, 0 is the best
// and where several audio tracks can be chosen from (hls.js, dash.js)
//   voices()    the number of these
//   speak(n)    plays the audio track n, 0 is the first
//   spoken()    the number of the one that plays
// `low`: low latency, where the player has a mode for it. `settings` are merged into the player's own. `error(text)` takes
// every error that the player reports. Other settings are the player's defaults, except where a comment says why.

const sinceDate = (date) => (date && !Number.isNaN(date.getTime()) ? (Date.now() - date.getTime()) / 1000 : null);

// HTTP-FLV has no dates. Seconds of media that the player has received and not shown yet.
const ahead = () => {
  const video = document.querySelector('video');
  return video.buffered.length ? video.buffered.end(video.buffered.length - 1) - video.currentTime : null;
};
const oneLevel = { levels: () => 1, choose: () => {} };

function merged(ours, theirs) {
  const plain = (value) => value && typeof value === 'object' && !Array.isArray(value);
  const all = { ...ours };
  for (const [name, value] of Object.entries(theirs)) {
    all[name] = plain(value) && plain(all[name]) ? merged(all[name], value) : value;
  }
  return all;
}

const hlsJs = {
  libraries: ['hls.js/hls.min.js'],
  start(video, url, { low, settings, error }) {
    // The rate is that of Weir's page. Without it, the player does not catch up after a stall.
    const hls = new Hls(merged({ lowLatencyMode: low, maxLiveSyncPlaybackRate: 1.25 }, settings));
    hls.on(Hls.Events.ERROR, (_, data) => error(`${data.fatal ? 'fatal ' : ''}${data.details}`));
    hls.attachMedia(video);
    hls.loadSource(url);
    return {
      behind: () => sinceDate(hls.playingDate),
      levels: () => hls.levels.length,
      choose: (n) => { hls.nextLevel = hls.levels.length - 1 - n; }, // its best one is the last
      voices: () => hls.audioTracks.length,
      speak: (n) => { hls.audioTrack = n; },
      spoken: () => hls.audioTrack,
    };
  },
};

const shakaPlayer = {
  libraries: ['shaka-player/shaka-player.compiled.js'],
  start(video, url, { low, settings, error }) {
    const player = new shaka.Player();
    const say = (e) => error(`${e.severity === 2 ? 'fatal ' : ''}${e.code ?? e} ${(e.data ?? []).slice(0, 2).join(' ')}`);
    player.addEventListener('error', (event) => say(event.detail));
    player.configure(merged({ streaming: { lowLatencyMode: low } }, settings));
    const play = async () => {
      await player.attach(video);
      await player.load(url);
    };
    play().catch(say);
    const tracks = () => player.getVariantTracks().sort((a, b) => b.bandwidth - a.bandwidth);
    return {
      behind: () => sinceDate(player.getPlayheadTimeAsDate()),
      levels: () => new Set(tracks().map((track) => track.videoId ?? track.id)).size,
      choose: (n) => {
        player.configure({ abr: { enabled: false } });
        player.selectVariantTrack(tracks()[n]);
      },
    };
  },
};

const dashJs = {
  libraries: ['dashjs/dash.mediaplayer.min.js'],
  start(video, url, { settings, error }) {
    const player = dashjs.MediaPlayer().create();
    player.updateSettings(settings);
    player.on('error', (e) => error(`fatal ${e.error?.code ?? ''} ${e.error?.message ?? e.error}`));
    player.initialize(video, url, true);
    return {
      behind: () => player.getCurrentLiveLatency() || null,
      levels: () => player.getRepresentationsByType('video').length,
      choose: (n) => {
        player.updateSettings({ streaming: { abr: { autoSwitchBitrate: { video: false } } } });
        const best = player.getRepresentationsByType('video').sort((a, b) => b.bandwidth - a.bandwidth);
        player.setRepresentationForTypeById('video', best[n].id);
      },
      voices: () => player.getTracksFor('audio').length,
      speak: (n) => player.setCurrentTrack(player.getTracksFor('audio')[n]),
      spoken: () => player.getTracksFor('audio').findIndex((track) => track.index === player.getCurrentTrackFor('audio')?.index),
    };
  },
};

// video.js; its engine for HLS and DASH is called VHS.
const vhs = {
  libraries: ['video.js/video.min.js'],
  start(video, url, { low, settings, error }) {
    const player = videojs(video, merged({ autoplay: true, muted: true, html5: { vhs: { llhls: low, overrideNative: true } } }, settings));
    const dash = /\.mpd(\?|$)/.test(url);
    player.on('error', () => error(`fatal ${player.error()?.code} ${player.error()?.message}`));
    player.src({ src: url, type: dash ? 'application/dash+xml' : 'application/vnd.apple.mpegurl' });
    const engine = () => player.tech(true)?.vhs;
    // When a segment starts, in milliseconds since 1970.
    const wallClock = (segment) => {
      if (segment.programDateTime) {
        return segment.programDateTime;
      }
      const start = /availabilityStartTime="([^"]+)"/.exec(engine().playlists.mainXml_ ?? '')?.[1];
      return start && Date.parse(start) + segment.presentationTime * 1000;
    };
    return {
      behind: () => {
        const now = player.currentTime();
        const known = (engine()?.playlists?.media?.()?.segments ?? []).filter((each) => Number.isFinite(each.start) && wallClock(each));
        const segment = known.filter((each) => each.start <= now).pop() ?? known[0];
        return segment ? sinceDate(new Date(wallClock(segment) + (now - segment.start) * 1000)) : null;
      },
      levels: () => player.qualityLevels().length,
      choose: (n) => {
        const levels = Array.from(player.qualityLevels().levels_).sort((a, b) => b.bitrate - a.bitrate);
        levels.forEach((level, index) => { level.enabled = index === n; });
      },
    };
  },
};

const mpegtsJs = {
  libraries: ['mpegts.js/mpegts.js'],
  start(video, url, { settings, error }) {
    // The settings of Weir's page.
    const player = mpegts.createPlayer({ type: 'flv', isLive: true, url },
      { enableStashBuffer: false, liveBufferLatencyChasing: true, ...settings });
    player.on(mpegts.Events.ERROR, (type, detail, info) => error(`${type} ${detail} ${info?.msg ?? ''}`));
    player.attachMediaElement(video);
    player.load();
    return { behind: ahead, ...oneLevel };
  },
};

const xgplayer = {
  libraries: ['xgplayer/index.min.js', 'xgplayer-flv/index.min.js'],
  start(video, url, { settings, error }) {
    video.remove();
    const player = new Player(merged({ el: document.getElementById('place'), url, isLive: true, autoplay: true, autoplayMuted: true,
      plugins: [FlvPlayer] }, settings));
    player.on('error', (e) => error(`fatal ${e.errorType} ${e.message ?? ''}`));
    return { behind: ahead, ...oneLevel };
  },
};

const PLAYERS = { 'hls.js': hlsJs, shaka: shakaPlayer, 'dash.js': dashJs, vhs, 'mpegts.js': mpegtsJs, xgplayer };
