import {
  needsHealthCheckPort,
  type ServicePortSpec,
  type ServiceSpec,
  usesNodePorts,
} from '../resources/service-spec.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { internalError } from '../status.ts'
import type { Claims, Pool } from './pool.ts'

export interface PortAllocation {
  readonly claims: Claims
  readonly pool: Pool
}

/** Claims node ports for all ports that need one, and for the health check. */
export async function allocatePorts(
  spec: ServiceSpec,
  old: ServiceSpec | undefined,
  allocation: PortAllocation,
): Promise<{ readonly spec: ServiceSpec; readonly errors: readonly FieldError[] }> {
  const held = portsOf(old)
  const errors: FieldError[] = []
  for (const [field, port] of askedPorts(spec)) {
    if (!held.has(port)) errors.push(...(await claim(field, port, allocation)))
  }
  if (errors.length > 0) return { spec, errors }
  return { spec: await chooseHealthCheckPort(await chooseNodePorts(spec, allocation), allocation), errors }
}

/** Returns the ports that a Service names, by field. */
function askedPorts(spec: ServiceSpec): readonly (readonly [field: string, port: number])[] {
  const ports = usesNodePorts(spec) ? (spec.ports ?? []) : []
  const health = needsHealthCheckPort(spec) ? (spec.healthCheckNodePort ?? 0) : 0
  return [
    ...ports.map(({ nodePort = 0 }, index) => [`spec.ports[${index}].nodePort`, nodePort] as const),
    ['spec.healthCheckNodePort', health] as const,
  ].filter(([, port]) => port !== 0)
}

async function claim(field: string, port: number, { claims, pool }: PortAllocation): Promise<readonly FieldError[]> {
  const { first, last } = pool.band
  if (BigInt(port) < first || BigInt(port) > last) {
    const why = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
    return [invalidField(field, port, why)]
  }
  const isFree = await claims.claim(pool, BigInt(port))
  return isFree ? [] : [invalidField(field, port, 'provided port is already allocated')]
}

/** Chooses the node ports that the Service does not name. Ports with one number on two protocols share a node port. */
async function chooseNodePorts(spec: ServiceSpec, allocation: PortAllocation): Promise<ServiceSpec> {
  const isUnwanted = spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts === false
  if (!usesNodePorts(spec) || spec.ports === undefined || isUnwanted) return spec
  const chosen = new Map(spec.ports.filter(({ nodePort }) => nodePort).map(({ port, nodePort }) => [port, nodePort]))
  const used = new Set(spec.ports.map(({ nodePort, protocol }) => `${protocol} ${nodePort}`))
  const ports: ServicePortSpec[] = []
  for (const port of spec.ports) {
    const shared = chosen.get(port.port)
    const isShareable = shared !== undefined && !used.has(`${port.protocol} ${shared}`)
    const nodePort = port.nodePort || (isShareable ? shared : await claimAny(allocation))
    chosen.set(port.port, nodePort)
    used.add(`${port.protocol} ${nodePort}`)
    ports.push({ ...port, nodePort })
  }
  return { ...spec, ports }
}

async function chooseHealthCheckPort(spec: ServiceSpec, allocation: PortAllocation): Promise<ServiceSpec> {
  if (!needsHealthCheckPort(spec) || spec.healthCheckNodePort) return spec
  return { ...spec, healthCheckNodePort: await claimAny(allocation) }
}

async function claimAny({ claims, pool }: PortAllocation): Promise<number> {
  const value = await claims.claimAny(pool)
  if (value === undefined) throw internalError('failed to allocate a nodePort: range is full')
  return Number(value)
}

/** Releases the ports that `next` no longer has. */
export async function releasePorts(
  old: ServiceSpec | undefined,
  next: ServiceSpec | undefined,
  { claims, pool }: PortAllocation,
): Promise<void> {
  const kept = portsOf(next)
  for (const port of portsOf(old)) if (!kept.has(port)) await claims.release(pool, BigInt(port))
}

function portsOf(spec: ServiceSpec | undefined): ReadonlySet<number> {
  const ports = [...(spec?.ports ?? []).map(({ nodePort = 0 }) => nodePort), spec?.healthCheckNodePort ?? 0]
  return new Set(ports.filter((port) => port !== 0))
}
