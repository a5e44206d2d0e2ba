import { X509Certificate } from 'node:crypto'
import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { findCertificateBlocks } from '../../model/pem.ts'
import { createClosedCa } from '../../pki/index.ts'
import type { ApiDocument } from '../document.ts'
import { reviseObject } from '../verbs/update.ts'
import type { VerbContext } from '../verbs/verb-context.ts'
import { ensure, writeOptions } from './ensure.ts'

const namespace = 'kube-system'
const name = 'extension-apiserver-authentication'
const reader = `${name}-reader`
const requestHeaderCa = 'requestheader-client-ca-file'

/** The headers by which a front proxy names a user, and the names of such proxies, as kube-apiserver writes them. */
const requestHeaders: Readonly<Record<string, string>> = {
  'requestheader-username-headers': '["X-Remote-User"]',
  'requestheader-uid-headers': '["X-Remote-Uid"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  'requestheader-allowed-names': '["front-proxy-client"]',
}

export interface ClusterTrustOptions {
  readonly dialect: Dialect
  /** The CA of client certificates, PEM; without one nothing is written. */
  readonly clientCaPem: string | undefined
}

/**
 * Keeps the ConfigMap by which Kubernetes' own programs know the clients of their ports, and the Role that lets them read it. No proxy
 * speaks for users of this cluster, so nothing is ever signed by the CA of `requestheader-client-ca-file`. Several servers add their CAs.
 */
export async function ensureClusterTrust(context: VerbContext, options: ClusterTrustOptions): Promise<void> {
  const { dialect, clientCaPem } = options
  if (dialect.name !== 'kubernetes' || clientCaPem === undefined) return
  await ensureReader(context, dialect)
  const place = { plural: 'configmaps', namespace }
  await ensure(context, place, { metadata: { name } })
  const resource = context.registry.find('', 'v1', place.plural)
  if (resource === undefined) return
  const closedCaPem = await createClosedCa('platnet-front-proxy-ca', context.now())
  const revise = (found: ApiDocument) => ({ ...found, data: trustData(found, clientCaPem, closedCaPem, context.now()) })
  await reviseObject(context, { resource, namespace, name, subresource: undefined }, revise, writeOptions)
}

function trustData(found: ApiDocument, clientCaPem: string, closedCaPem: string, now: Date): JsonObject {
  const data = found['data'] as Readonly<Record<string, string>> | undefined
  const proxies = validCertificates(data?.[requestHeaderCa], now)
  return {
    ...data,
    'client-ca-file': bundle([...validCertificates(data?.['client-ca-file'], now), clientCaPem]),
    ...requestHeaders,
    [requestHeaderCa]: bundle(proxies.length > 0 ? proxies : [closedCaPem]),
  }
}

/** Returns the certificates of a PEM text that have not expired; what is no certificate is left out. */
function validCertificates(pem: string | undefined, now: Date): readonly string[] {
  return findCertificateBlocks(pem ?? '').filter((block) => {
    try {
      return new X509Certificate(block).validToDate > now
    } catch {
      return false
    }
  })
}

function bundle(certificates: readonly string[]): string {
  return [...new Set(certificates.map((pem) => pem.trim()))].map((pem) => `${pem}\n`).join('')
}

async function ensureReader(context: VerbContext, { groups, labels }: Dialect): Promise<void> {
  const described = {
    labels: { [labels.bootstrapping]: 'rbac-defaults' },
    annotations: { [labels.autoUpdate]: 'true' },
  }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get', 'list', 'watch'] }]
  const role = { metadata: { name: reader, ...described }, rules }
  await ensure(context, { group: groups.rbac, plural: 'roles', namespace }, role)
  const user = (each: string) => ({ apiGroup: groups.rbac, kind: 'User', name: each })
  const binding = {
    metadata: { name: `system::${reader}`, ...described },
    roleRef: { apiGroup: groups.rbac, kind: 'Role', name: reader },
    subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler')],
  }
  await ensure(context, { group: groups.rbac, plural: 'rolebindings', namespace }, binding)
}
