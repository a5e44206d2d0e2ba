import type { MetricSpec } from '../model/metric-spec.ts'

/** The metrics of the process, which prom-client collects: documented here, registered by `createMetrics`. */
export const processMetrics: readonly MetricSpec[] = [
  {
    type: 'counter',
    name: 'process_cpu_user_seconds_total',
    help: 'CPU time in user mode.',
  },
  {
    type: 'counter',
    name: 'process_cpu_system_seconds_total',
    help: 'CPU time in the kernel.',
  },
  {
    type: 'counter',
    name: 'process_cpu_seconds_total',
    help: 'CPU time, in user mode and in the kernel.',
  },
  {
    type: 'gauge',
    name: 'process_start_time_seconds',
    help: 'When the process started, in seconds since 1970.',
  },
  {
    type: 'gauge',
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process that is in RAM.',
  },
  {
    type: 'gauge',
    name: 'process_virtual_memory_bytes',
    help: 'Address space of the process.',
  },
  {
    type: 'gauge',
    name: 'process_heap_bytes',
    help: 'The data segment of the process.',
  },
  {
    type: 'gauge',
    name: 'process_open_fds',
    help: 'Open file descriptors.',
  },
  {
    type: 'gauge',
    name: 'process_max_fds',
    help: 'The limit of open file descriptors.',
  },
  {
    type: 'gauge',
    name: 'nodejs_eventloop_lag_seconds',
    help: 'How late the event loop of the main thread is now.',
  },
  {
    type: 'gauge',
    name: 'nodejs_eventloop_lag_min_seconds',
    help: 'The least lag of the event loop since the last scrape.',
  },
  {
    type: 'gauge',
    name: 'nodejs_eventloop_lag_max_seconds',
    help: 'The largest lag of the event loop since the last scrape.',
  },
  {
    type: 'gauge',
    name: 'nodejs_eventloop_lag_mean_seconds',
    help: 'The mean lag of the event loop since the last scrape.',
  },
  {
    type: 'gauge',
    name: 'nodejs_eventloop_lag_stddev_seconds',
    help: 'The standard deviation of the lag of the event loop since the last scrape.',
  },
  {
    type: 'gauge',
    name: 'nodejs_eventloop_lag_p50_seconds',
    help: 'The median lag of the event loop since the last scrape.',
  },
  {
    type: 'gauge',
    name: 'nodejs_eventloop_lag_p90_seconds',
    help: 'The 90th percentile of the lag of the event loop since the last scrape.',
  },
  {
    type: 'gauge',
    name: 'nodejs_eventloop_lag_p99_seconds',
    help: 'The 99th percentile of the lag of the event loop since the last scrape.',
  },
  {
    type: 'gauge',
    name: 'nodejs_active_resources',
    help: 'Resources that keep the event loop alive, by type.',
    labels: { type: 'machine' },
  },
  {
    type: 'gauge',
    name: 'nodejs_active_handles',
    help: 'Open handles of libuv, by type.',
    labels: { type: 'machine' },
  },
  {
    type: 'gauge',
    name: 'nodejs_active_requests',
    help: 'Requests of libuv under way, by type.',
    labels: { type: 'machine' },
  },
  {
    type: 'gauge',
    name: 'nodejs_heap_size_total_bytes',
    help: 'Size of the heap of V8.',
  },
  {
    type: 'gauge',
    name: 'nodejs_heap_size_used_bytes',
    help: 'Used part of the heap of V8.',
  },
  {
    type: 'gauge',
    name: 'nodejs_external_memory_bytes',
    help: 'Memory outside the heap that objects on it hold.',
  },
  {
    type: 'gauge',
    name: 'nodejs_heap_space_size_total_bytes',
    help: 'Size of each space of the heap.',
    labels: { space: 'machine' },
  },
  {
    type: 'gauge',
    name: 'nodejs_heap_space_size_used_bytes',
    help: 'Used part of each space of the heap.',
    labels: { space: 'machine' },
  },
  {
    type: 'gauge',
    name: 'nodejs_heap_space_size_available_bytes',
    help: 'Free part of each space of the heap.',
    labels: { space: 'machine' },
  },
  {
    type: 'gauge',
    name: 'nodejs_version_info',
    help: 'The version of Node.',
    labels: { version: 'machine', major: 'machine', minor: 'machine', patch: 'machine' },
  },
  {
    type: 'histogram',
    name: 'nodejs_gc_duration_seconds',
    help: 'Time of garbage collections, by kind.',
    labels: { kind: ['major', 'minor', 'incremental', 'weakcb'] },
    buckets: [0.001, 0.01, 0.1, 1, 2, 5],
  },
]

/** The metric that names the build. */
export const buildMetric = {
  type: 'gauge',
  name: 'platnet_build_info',
  help: 'Always 1; the labels are the version, its commit and the Node it runs on.',
  labels: { version: 'machine', revision: 'machine', nodeversion: 'machine' },
} as const satisfies MetricSpec
