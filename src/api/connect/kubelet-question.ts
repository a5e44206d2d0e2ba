import { textAt } from '../document.ts'
import { badRequest } from '../status.ts'
import type { Store } from '../store/index.ts'
import type { Backend } from './backend.ts'
import { chooseContainer } from './containers.ts'
import { findObject, pod } from './find-object.ts'
import { findKubelet, type KubeletAccess } from './kubelets.ts'
import { type LogOptions, readLogOptions } from './log-options.ts'
import { readInteger, readSwitch } from './query.ts'

/** A request to a kubelet. */
export interface KubeletQuestion {
  readonly kubelet: Backend
  readonly pathAndQuery: string
}

interface Asked {
  readonly store: Store
  readonly kubelets: KubeletAccess
  readonly namespace: string
  readonly name: string
  readonly query: URLSearchParams
}

/** Returns the question for a log; undefined for a pod that has no node yet. Throws a 400, 404 or 422. */
export async function askForLog(
  asked: Asked,
): Promise<(KubeletQuestion & { readonly options: LogOptions }) | undefined> {
  const { store, kubelets, namespace, name, query } = asked
  const options = readLogOptions(query, name)
  const found = await findObject(store, pod, namespace, name)
  const container = chooseContainer(found, options.container)
  const node = textAt(found['spec'], 'nodeName')
  if (node === '') return undefined
  const kubelet = await findKubelet(store, kubelets, node)
  const tls = options.skipsVerification ? { ...kubelet.tls, caPem: undefined } : kubelet.tls
  const path = pathOf('containerLogs', namespace, name, container)
  return { kubelet: { ...kubelet, tls }, pathAndQuery: withQuery(path, options.query), options }
}

/** Returns the question for `exec`, `attach` or `portforward`. Throws a 400 or 404. */
export async function askForStream(
  asked: Asked,
  subresource: 'exec' | 'attach' | 'portforward',
): Promise<KubeletQuestion> {
  const { store, kubelets, namespace, name, query } = asked
  const found = await findObject(store, pod, namespace, name)
  const isForward = subresource === 'portforward'
  const places = isForward ? [namespace, name] : [namespace, name, chooseContainer(found, query.get('container') ?? '')]
  const node = textAt(found['spec'], 'nodeName')
  if (node === '') throw badRequest(`pod ${name} does not have a host assigned`)
  const kubelet = await findKubelet(store, kubelets, node)
  const path = pathOf(isForward ? 'portForward' : subresource, ...places)
  return { kubelet, pathAndQuery: withQuery(path, isForward ? portQuery(query) : streamQuery(query)) }
}

/** The names of the streams in a client's query and in the kubelet's. */
const streams = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
] as const

function streamQuery(query: URLSearchParams): URLSearchParams {
  const wanted = streams.filter(([name]) => readSwitch(query, name)).map(([, name]) => [name, '1'])
  return new URLSearchParams([...wanted, ...query.getAll('command').map((word) => ['command', word])])
}

function portQuery(query: URLSearchParams): URLSearchParams {
  const ports = query
    .getAll('ports')
    .map((text) => String(readInteger(new URLSearchParams([['ports', text]]), 'ports')))
  return new URLSearchParams(ports.length === 0 ? [] : [['port', ports.join(',')]])
}

function pathOf(...segments: readonly string[]): string {
  return `/${segments.map(encodeURIComponent).join('/')}`
}

function withQuery(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`
}
