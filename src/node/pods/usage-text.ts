import type { ContainerUsage } from './container-usage.ts'
import type { NodeUsage } from './node-usage.ts'

interface Series {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly values: readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]
}

/**
 * Renders the use of a node and its containers as kubelet's `/metrics/resource` does: the same names and labels, each
 * value with its time in ms (Prometheus text format 0.0.4). metrics-server reads it.
 */
export function renderUsage(node: NodeUsage | undefined, containers: readonly ContainerUsage[], nowMs: number): string {
  const ofNode = (value: (usage: NodeUsage) => number) => (node === undefined ? [] : [[{}, value(node)] as const])
  const ofContainers = (value: (usage: ContainerUsage) => number) =>
    containers.map((each) => {
      const { container, namespace, pod } = each
      return [{ container, namespace, pod }, value(each)] as const
    })
  const pods = [...Map.groupBy(containers, ({ namespace, pod }) => `${namespace}/${pod}`).values()]
  const ofPods = (value: (usage: ContainerUsage) => number) =>
    pods.map((each) => {
      const { namespace = '', pod = '' } = each[0] ?? {}
      return [{ namespace, pod }, each.reduce((sum, usage) => sum + value(usage), 0)] as const
    })
  const cpu = ({ cpuSeconds }: { readonly cpuSeconds: number }) => cpuSeconds
  const memory = ({ memoryBytes }: { readonly memoryBytes: number }) => memoryBytes
  const counter = (name: string, help: string, values: Series['values']): Series => ({
    name,
    type: 'counter',
    help,
    values,
  })
  const gauge = (name: string, help: string, values: Series['values']): Series => ({
    name,
    type: 'gauge',
    help,
    values,
  })
  return [
    gauge(
      'container_start_time_seconds',
      'Start time of the container since unix epoch in seconds',
      ofContainers(({ startedAtMs }) => startedAtMs / 1000),
    ),
    counter('container_cpu_usage_seconds_total', 'CPU time used by the container in core-seconds', ofContainers(cpu)),
    gauge('container_memory_working_set_bytes', 'Working set of the container in bytes', ofContainers(memory)),
    counter('pod_cpu_usage_seconds_total', 'CPU time used by the pod in core-seconds', ofPods(cpu)),
    gauge('pod_memory_working_set_bytes', 'Working set of the pod in bytes', ofPods(memory)),
    counter('node_cpu_usage_seconds_total', 'CPU time used by the node in core-seconds', ofNode(cpu)),
    gauge('node_memory_working_set_bytes', 'Working set of the node in bytes', ofNode(memory)),
    gauge('resource_scrape_error', '1 if the use of the node could not be read, 0 otherwise', [
      [{}, node === undefined ? 1 : 0],
    ]),
  ]
    .map((series) => renderSeries(series, nowMs))
    .join('')
}

function renderSeries({ name, type, help, values }: Series, nowMs: number): string {
  const lines = values.map(([labels, value]) => {
    const texts = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`)
    const time = name === 'resource_scrape_error' ? '' : ` ${nowMs}`
    return `${name}${texts.length === 0 ? '' : `{${texts.join(',')}}`} ${value}${time}\n`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
