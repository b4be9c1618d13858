# A build of the fuzz targets compiles what they reach and nothing else: the whole server would take longer to compile than
# the search lasts. base/, media/, proto/ and stream/ are taken whole; of the layers above them only this. A target that
# needs more fails to link, and the name that it misses says what to add.
set(WEIR_FUZZED_io coroutine crash_report crash_stack fault_handler leak_check log_writer reactor runtime sanitizer_log
  sanitizer_options scheduler signal_stack srt/srt_greeting stacks valgrind_check worker_pool st_context_arm64)
set(WEIR_FUZZED_net api/answer end_class hooks record_name rtp/audio_bridge rtp/derived_aac rtp/late_audio rtp/rtp_cutter rtp/rtp_ingest rtp/rtp_sealer rtp/rtp_sender source/asked_stream source/source_url ts/group_address ts/fast_change ts/fec_blocks ts/fec_recovery ts/group_input ts/rtp_order ts/ts_carrier ts/ts_clock ts/ts_ingest)
set(WEIR_FUZZED_transcode audio_transcoder av_library av_path av_path_off plain_path)
set(WEIR_FUZZED_session phone/phone_messages webrtc/rtc_ingest webrtc/rtc_layers webrtc/rtc_log_writer webrtc/rtc_playable webrtc/rtc_sender)
set(WEIR_FUZZED_app access/jwt access/jwt_keys access/strict_json)
set(WEIR_FUZZED_diagnosis none)
