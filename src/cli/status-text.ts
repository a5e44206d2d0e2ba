import type { AgentStatus } from '../app/composition/agent-status.ts'
import { formatAge } from '../model/age.ts'

/** Formats a line for each part and each trouble; `wide` with the time since which a part is as it is. */
export function renderStatus(status: AgentStatus, isWide: boolean): string {
  const { nodeName, components, applied, proxy, policy, ingress, problems } = status
  const lines = [
    `node ${nodeName}, state revision ${applied.revision}`,
    `  serves   ${describeServed(status).join(', ')}`,
    ...Object.entries(components).map(
      ([name, { level, message, sinceMs }]) =>
        `  ${level.padEnd(8)} ${message === '' ? name : `${name}: ${message}`}${isWide ? since(sinceMs) : ''}`,
    ),
    ...Object.entries(applied.planes).map(
      ([plane, revision]) =>
        `  applied  ${plane}: revision ${revision}${applied.failing.includes(plane) ? ', and fails since' : ''}`,
    ),
    ...proxy.flatMap((family) => renderProxy(family, isWide)),
    ...(policy ? renderPolicy(policy, isWide) : []),
    ...(ingress ? renderIngress(ingress) : []),
    ...renderReload(status.options),
    ...problems.map((problem) => `  problem  ${problem}`),
  ]
  return `${lines.join('\n')}\n`
}

/** Counts what this node serves; a family that serves as many Services as another one is not counted apart. */
function describeServed({ proxy, policy, ingress }: AgentStatus): readonly string[] {
  const counts = [
    ...(proxy.length > 0 ? [plural(Math.max(...proxy.map(({ services }) => services)), 'Service')] : []),
    ...(policy
      ? [`${plural(policy.policies, 'NetworkPolicy', 'NetworkPolicies')} for ${plural(policy.localPods, 'pod')}`]
      : []),
    ...(ingress
      ? [`${plural(ingress.ingresses.ours, 'Ingress', 'Ingresses')} on ${plural(ingress.hosts, 'host')}`]
      : []),
  ]
  return counts.length > 0 ? counts : ['nothing yet']
}

function renderReload(report: AgentStatus['options']): string[] {
  if (report === undefined) return []
  const { atMs, waiting, problem } = report
  const at = new Date(atMs).toISOString()
  return [
    ...(problem === undefined ? [] : [`  options  NOT read again at ${at}, those before hold: ${problem}`]),
    ...(waiting.length === 0 ? [] : [`  options  wait for the next start: ${waiting.join(', ')}`]),
  ]
}

function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

function renderProxy(
  { family, services, objectsHash, lastSync, setAside, waiting, mode, modeReason }: AgentStatus['proxy'][number],
  isWide: boolean,
): string[] {
  const sync = lastSync
    ? `last sync ${when(lastSync.atMs, isWide)} (${lastSync.kind}, ${lastSync.bytes} bytes, ${Math.round(lastSync.durationMs)} ms)`
    : objectsHash === undefined
      ? 'not synced yet'
      : 'recognised by what stands in the kernel, a comparison follows'
  return [
    `  mode     ${family}: ${mode}${modeReason === '' ? '' : ` (${modeReason})`}`,
    `  proxy    ${family}: ${plural(services, 'Service')}, ${sync}, objects ${objectsHash ?? 'unknown'}`,
    ...(waiting > 0 ? [`  writing  ${family}: rules of ${waiting} Services are not all written yet`] : []),
    ...setAside.map(
      ({ service, reason, attempts, sinceMs, retryAtMs }) =>
        `  aside    ${family}: ${service} since ${new Date(sinceMs).toISOString()}, ${attempts} attempts, next ${retryAtMs === undefined ? 'when it changes' : new Date(retryAtMs).toISOString()}: ${reason}`,
    ),
  ]
}

function renderPolicy(status: NonNullable<AgentStatus['policy']>, isWide: boolean): string[] {
  const { policies, localPods, isolated, obstacles, problems, families } = status
  const { ingress, egress, unknown } = isolated
  return [
    `  policy   ${plural(policies, 'NetworkPolicy', 'NetworkPolicies')}; of ${plural(localPods, 'pod')} here ${ingress} isolated for ingress, ${egress} for egress, ${unknown} not known yet`,
    ...families.map(({ family, lastSync }) => `  policy   ${family}: ${renderSync(lastSync, isWide)}`),
    ...obstacles.map((obstacle) => `  policy   NOT enforced: ${obstacle}`),
    ...problems.flatMap(({ policy, messages }) => messages.map((message) => `  policy   ${policy}: ${message}`)),
  ]
}

function renderIngress(status: NonNullable<AgentStatus['ingress']>): string[] {
  const { driver, ingresses, hosts, backends, backendsDown, certificates, problems } = status
  const { defaultCertificateProblem: defaultProblem, failure } = status
  return [
    `  ingress  ${ingresses.ours} Ingresses (${ingresses.foreign} of other classes), ${hosts} hosts, ${backends} backends, served by ${driver}`,
    ...(failure === undefined ? [] : [`  ingress  the newest routes are not in force: ${failure}`]),
    ...backendsDown.map((backend) => `  ingress  Service ${backend} has no endpoint: its requests are answered 503`),
    ...certificates.map(
      ({ secret, hosts: names, daysLeft, notAfter }) =>
        `  ingress  certificate ${secret} for ${names.join(', ') || 'all other names'}: ${daysLeft} days left (until ${notAfter.slice(0, 10)})`,
    ),
    ...(defaultProblem === undefined ? [] : [`  ingress  default certificate: ${defaultProblem}`]),
    ...problems.map(({ ingress, message }) => `  ingress  ${ingress}: ${message}`),
  ]
}

type Sync = { readonly atMs: number; readonly kind: string; readonly durationMs: number } | undefined

function renderSync(sync: Sync, isWide: boolean): string {
  if (sync === undefined) return 'not synced yet'
  return `last sync ${when(sync.atMs, isWide)} (${sync.kind}, ${Math.round(sync.durationMs)} ms)`
}

/** Formats a time (ms since 1970) as its age, `wide` with the time itself. */
function when(atMs: number, isWide: boolean): string {
  const age = `${formatAge(Date.now() - atMs)} ago`
  return isWide ? `${new Date(atMs).toISOString()}, ${age}` : age
}

/** Formats a time (ms since 1970) as a remark; 0 is a time that is not known. */
function since(sinceMs: number): string {
  return sinceMs === 0 ? '' : ` (since ${new Date(sinceMs).toISOString()})`
}
