/** The counters of a container or a node at one moment. */
export interface Sample {
  /** The time of the sample, and the start of what it counts. */
  readonly atMs: number
  readonly startedAtMs: number
  readonly cpuSeconds: number
  readonly memoryBytes: number
}

/** The samples of one node. */
export interface NodeSamples {
  /** Undefined where the node could not be read. */
  readonly node: Sample | undefined
  /** The samples of the containers of each pod, by `namespace/name` and the container's name. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Sample>>
}

/** The use of a container or a node between two samples. */
export interface Rate {
  /** The time of the later sample. */
  readonly atMs: number
  readonly windowMs: number
  readonly cpuCores: number
  readonly memoryBytes: number
}

const line = /^(?<name>[a-z_]+)(?:\{(?<labels>[^}]*)\})? (?<value>[0-9.eE+-]+)(?: (?<atMs>\d{1,15}))?$/
const label = /(\w+)="([^"\\]*)"/g

interface Value {
  readonly value: number
  readonly atMs: number
}

/**
 * Parses the answer of `/metrics/resource` (kubelet's names, Prometheus text format). Lines of other names or forms are
 * skipped, and so is a container without all of its values. `nowMs` is the time of values without one. Linear in the text.
 */
export function parseSamples(text: string, nowMs: number): NodeSamples {
  const values = new Map<string, Map<string, Value>>()
  for (const each of text.split('\n')) {
    const { name, labels = '', value, atMs } = line.exec(each)?.groups ?? {}
    if (name === undefined || !Number.isFinite(Number(value))) continue
    const [, scope = '', quantity = ''] = /^(node|container)_(.+)$/.exec(name) ?? []
    if (scope === '') continue
    const found = Object.fromEntries(Array.from(labels.matchAll(label), ([, key, content]) => [key, content]))
    const place = scope === 'node' ? '' : `${found['namespace']}/${found['pod']}/${found['container']}`
    const known = values.get(place) ?? new Map<string, Value>()
    known.set(quantity, { value: Number(value), atMs: Number(atMs ?? nowMs) })
    values.set(place, known)
  }
  const node = values.get('')
  values.delete('')
  return { node: node && toSample(node), pods: groupByPod(values) }
}

function groupByPod(values: ReadonlyMap<string, ReadonlyMap<string, Value>>): NodeSamples['pods'] {
  const pods = new Map<string, Map<string, Sample>>()
  for (const [place, known] of values) {
    const sample = toSample(known)
    const slash = place.lastIndexOf('/')
    if (sample === undefined) continue
    const pod = pods.get(place.slice(0, slash)) ?? new Map<string, Sample>()
    pod.set(place.slice(slash + 1), sample)
    pods.set(place.slice(0, slash), pod)
  }
  return pods
}

function toSample(values: ReadonlyMap<string, Value>): Sample | undefined {
  const cpu = values.get('cpu_usage_seconds_total')
  const memory = values.get('memory_working_set_bytes')
  if (cpu === undefined || memory === undefined || cpu.value < 0 || memory.value < 0) return undefined
  const startedAtMs = (values.get('start_time_seconds')?.value ?? 0) * 1000
  return { atMs: cpu.atMs, startedAtMs, cpuSeconds: cpu.value, memoryBytes: Math.floor(memory.value) }
}

/** The shortest time between two samples that gives a rate: clocks and counters have a resolution. */
const minWindowMs = 100

/**
 * Returns the use between two samples. Counters that began after the earlier one count from their start. Undefined
 * where the two say nothing: no earlier sample of counters that are older, or no time between.
 */
export function rateBetween(earlier: Sample | undefined, later: Sample): Rate | undefined {
  const began = { atMs: later.startedAtMs, startedAtMs: later.startedAtMs, cpuSeconds: 0, memoryBytes: 0 }
  const isSame = earlier !== undefined && earlier.startedAtMs === later.startedAtMs
  const isNew = later.startedAtMs > 0 && later.atMs - later.startedAtMs < newMs
  const from = isSame && earlier.cpuSeconds <= later.cpuSeconds ? earlier : isNew ? began : undefined
  const windowMs = from === undefined ? 0 : later.atMs - from.atMs
  if (from === undefined || windowMs < minWindowMs) return undefined
  const cpuCores = Math.max(0, later.cpuSeconds - from.cpuSeconds) / (windowMs / 1000)
  return { atMs: later.atMs, windowMs, cpuCores, memoryBytes: later.memoryBytes }
}

/** A container that is younger than this counts from its start. */
const newMs = 60_000
