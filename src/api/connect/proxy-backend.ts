import { randomInt } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt, textAt } from '../document.ts'
import { badRequest, StatusError } from '../status.ts'
import type { Store } from '../store/index.ts'
import type { Backend } from './backend.ts'
import { endpoints, findObject, pod, service } from './find-object.ts'
import { findKubelet, type KubeletAccess } from './kubelets.ts'

export interface ProxyParts {
  readonly store: Store
  readonly kubelets: KubeletAccess
  /** Whether a pod or a node may have the address: not loopback, link-local or the like. */
  readonly mayReach: (address: string) => boolean
}

/** The name in the path of a proxied object: `web`, `web:8080` or `https:web:8443`. */
export interface ProxiedName {
  readonly scheme: 'http' | 'https'
  readonly name: string
  /** A number, or the name of a Service's port; `""` for none. */
  readonly port: string
}

/** Throws a 400 for another form. `what` is the word of kube-apiserver's message. */
export function parseProxiedName(text: string, what: string): ProxiedName {
  const parts = text.split(':')
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts]
  if (parts.length > 3 || name === '' || !['', 'http', 'https'].includes(scheme))
    throw badRequest(`invalid ${what} request ${JSON.stringify(text)}`)
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port }
}

/** Finds the address of a pod: the port of the name, or else the first that a container declares, or that of the scheme. */
export async function findPodBackend(parts: ProxyParts, namespace: string, text: string): Promise<Backend> {
  const { scheme, name, port } = parseProxiedName(text, 'pod')
  const found = await findObject(parts.store, pod, namespace, name)
  const host = textAt(listAt(found['status'], 'podIPs')[0], 'ip')
  assertReachable(parts, host)
  return webBackend(scheme, host, port === '' ? firstPort(found) : port)
}

function firstPort(found: ApiDocument): string {
  const ports = listAt(found['spec'], 'containers').flatMap((container) => listAt(container, 'ports').slice(0, 1))
  return textAt(ports[0], 'containerPort')
}

/**
 * Finds an endpoint of a Service for the named port, or for the number of one of its ports: a random one whose address is
 * that of a pod in the namespace, so that Endpoints that a user wrote lead this server nowhere else.
 */
export async function findServiceBackend(parts: ProxyParts, namespace: string, text: string): Promise<Backend> {
  const { scheme, name, port } = parseProxiedName(text, 'service')
  const portName = /^\d+$/.test(port) ? await nameOfPort(parts.store, namespace, name, port) : port
  const found = await findObject(parts.store, endpoints, namespace, name)
  const subsets = listAt(found, 'subsets')
  if (subsets.length === 0) throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`)
  for (const candidate of inRandomOrder(candidatesOf(subsets, portName)))
    if (await isPodAddress(parts, namespace, candidate.address))
      return webBackend(scheme, textAt(candidate.address, 'ip'), candidate.port)
  throw unavailable(`no endpoints available for service ${JSON.stringify(text)}`)
}

async function nameOfPort(store: Store, namespace: string, name: string, port: string): Promise<string> {
  const { spec } = await findObject(store, service, namespace, name)
  const found = listAt(spec, 'ports').find((each) => textAt(each, 'port') === String(Number(port)))
  if (found !== undefined) return textAt(found, 'name')
  throw unavailable(`no service port ${Number(port)} found for service ${JSON.stringify(name)}`)
}

interface Candidate {
  readonly address: Json
  readonly port: string
}

function candidatesOf(subsets: readonly Json[], portName: string): readonly Candidate[] {
  return subsets.flatMap((subset) => {
    const port = listAt(subset, 'ports').find((each) => textAt(each, 'name') === portName)
    if (port === undefined) return []
    return listAt(subset, 'addresses').map((address) => ({ address, port: textAt(port, 'port') }))
  })
}

/** The number of endpoints that are looked at for one request. */
const maxCandidates = 100

function inRandomOrder(candidates: readonly Candidate[]): readonly Candidate[] {
  const first = candidates.length === 0 ? 0 : randomInt(candidates.length)
  return [...candidates.slice(first), ...candidates.slice(0, first)].slice(0, maxCandidates)
}

async function isPodAddress({ store, mayReach }: ProxyParts, namespace: string, address: Json): Promise<boolean> {
  const ip = textAt(address, 'ip')
  if (textAt(address, 'targetRef', 'namespace') !== namespace || !mayReach(ip)) return false
  const found = await findObject(store, pod, namespace, textAt(address, 'targetRef', 'name')).catch(ignoreMissing)
  return listAt(found?.['status'], 'podIPs').some((each) => textAt(each, 'ip') === ip)
}

function ignoreMissing(thrown: unknown): undefined {
  if (!(thrown instanceof StatusError) || thrown.code !== 'NotFound') throw thrown
}

/** Finds the kubelet of a node, or another port of the node. A name among its addresses is resolved once, and checked. */
export async function findNodeBackend(parts: ProxyParts, text: string): Promise<Backend> {
  const { scheme, name, port } = parseProxiedName(text, 'node')
  const kubelet = await findKubelet(parts.store, parts.kubelets, name)
  const host = await resolveOnce(kubelet.host)
  assertReachable(parts, host)
  if (port === '' || port === String(kubelet.port)) return { ...kubelet, host, serverName: kubelet.host }
  return webBackend(scheme, host, port)
}

async function resolveOnce(host: string): Promise<string> {
  if (isIP(host) !== 0) return host
  try {
    return (await lookup(host)).address
  } catch (cause) {
    throw badRequest(`the address ${JSON.stringify(host)} of the node cannot be resolved`, cause)
  }
}

function assertReachable({ mayReach }: ProxyParts, host: string): void {
  if (!mayReach(host)) throw badRequest('address not allowed')
}

/** Certificates of pods are not checked: no authority is known for them, as with kube-apiserver. */
function webBackend(scheme: ProxiedName['scheme'], host: string, port: string): Backend {
  const number = port === '' ? { http: 80, https: 443 }[scheme] : Number(port)
  if (!Number.isInteger(number) || number < 1 || number > 65_535)
    throw badRequest(`invalid port ${JSON.stringify(port)}: expected a number from 1 to 65535`)
  return { host, port: number, tls: scheme === 'https' ? {} : undefined }
}

function unavailable(message: string): StatusError {
  return new StatusError('ServiceUnavailable', message)
}
