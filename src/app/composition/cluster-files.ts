import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { makeFolder } from '../../host/index.ts'
import { bigIntToIp, type Cidr, cidrRange, type Ip, parseIp, unspecifiedIpv4 } from '../../model/ip.ts'
import type { RequestSigner } from '../../model/signing.ts'
import { specialKindOf } from '../../model/special-addresses.ts'
import {
  type ClusterCa,
  ensureCertificate,
  ensureClusterCa,
  ensureSigningKey,
  issueCertificate,
  readCertificateRequest,
  renderKubeconfig,
  signRequest,
  writeSecretFile,
} from '../../pki/index.ts'
import type { TlsMaterial } from '../../serve/index.ts'
import { isUnspecified } from './advertise-address.ts'

/** Returns the paths of all files in the data directory. */
export function dataPaths(dataDir: string) {
  return {
    store: join(dataDir, 'state.db'),
    pki: join(dataDir, 'pki'),
    serviceAccountKey: join(dataDir, 'pki', 'service-account.key'),
    adminKubeconfig: join(dataDir, 'admin.kubeconfig'),
    agentKubeconfig: join(dataDir, 'agent.kubeconfig'),
    controllersKubeconfig: join(dataDir, 'controllers.kubeconfig'),
    schedulerKubeconfig: join(dataDir, 'scheduler.kubeconfig'),
    agentToken: join(dataDir, 'agent.token'),
  } as const
}

export interface ServerIdentity {
  readonly dataDir: string
  readonly bindAddress: Ip
  readonly serviceCidrs: readonly Cidr[]
  readonly nodeName: string
}

const certificateDays = 365

/** Ensures the cluster's CA and the API server's certificate: created at the first start, renewed at a later start when due. */
export async function ensureServerTls(identity: ServerIdentity): Promise<TlsMaterial> {
  const { pki } = await makeDataDir(identity.dataDir)
  const ca = await ensureClusterCa(pki)
  const serviceNames = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ]
  const { certPem, keyPem } = await ensureCertificate(ca, pki, 'api-server', {
    commonName: 'platnet-api-server',
    dnsNames: ['localhost', identity.nodeName, ...serviceNames],
    ips: [...reachableAddresses(identity.bindAddress), ...identity.serviceCidrs.map(firstAddress)],
    usages: ['server'],
    days: certificateDays,
  })
  return { certificate: certPem, key: keyPem, clientCa: ca.certPem }
}

/** Ensures the key that signs tokens of service accounts; it is created at the first start. */
export async function ensureServiceAccountSigner(
  dataDir: string,
  issuer: string,
): Promise<{ readonly issuer: string; readonly keyPem: string }> {
  return { issuer, keyPem: await ensureSigningKey(dataPaths(dataDir).serviceAccountKey) }
}

/** Ensures the certificate by which the server reads from agents what nodes and pods use. */
export async function ensureUsageClient(dataDir: string): Promise<{ certPem: string; keyPem: string }> {
  const { pki } = dataPaths(dataDir)
  const request = {
    commonName: 'system:metrics-server',
    organizations: [],
    usages: ['client' as const],
    days: certificateDays,
  }
  return ensureCertificate(await ensureClusterCa(pki), pki, 'metrics-server', request)
}

/** Ensures the certificate by which kubelets know the server, where the options name none. */
export async function ensureKubeletClient(dataDir: string): Promise<{ certPem: string; keyPem: string }> {
  const { pki } = dataPaths(dataDir)
  const commonName = 'kube-apiserver-kubelet-client'
  const request = { commonName, organizations: [], usages: ['client' as const], days: certificateDays }
  return ensureCertificate(await ensureClusterCa(pki), pki, 'kubelet-client', request)
}

/** Writes kubeconfigs for the operator, the agent of this machine and the controllers, all for the server at `port`, with mode 0600. */
export async function writeKubeconfigs(identity: ServerIdentity, port: number): Promise<void> {
  const paths = dataPaths(identity.dataDir)
  const ca = await ensureClusterCa(paths.pki)
  const server = serverUrl(identity.bindAddress, port)
  const admin = { name: 'admin', commonName: 'platnet-admin', organizations: ['system:masters'] }
  const agent = { name: 'agent', commonName: `system:node:${identity.nodeName}`, organizations: ['system:nodes'] }
  const controllers = { name: 'controllers', commonName: 'system:kube-controller-manager', organizations: [] }
  await writeKubeconfig(ca, paths.pki, paths.controllersKubeconfig, server, controllers)
  const scheduler = { name: 'scheduler', commonName: 'system:kube-scheduler', organizations: [] }
  await writeKubeconfig(ca, paths.pki, paths.schedulerKubeconfig, server, scheduler)
  await writeKubeconfig(ca, paths.pki, paths.adminKubeconfig, server, admin)
  await writeKubeconfig(ca, paths.pki, paths.agentKubeconfig, server, agent)
}

/** The identity that a kubeconfig carries. */
export interface KubeconfigOwner {
  readonly user: string
  readonly groups: readonly string[]
  /** `https://host:port` at which the holder reaches the server. */
  readonly server: string
}

/** Creates a kubeconfig with a new client certificate of the data directory's CA, which is created if missing. The result is a secret. */
export async function issueKubeconfig(dataDir: string, { user, groups, server }: KubeconfigOwner): Promise<string> {
  const ca = await ensureClusterCa(dataPaths(dataDir).pki)
  const request = { commonName: user, organizations: groups, usages: ['client' as const], days: certificateDays }
  const { certPem, keyPem } = await issueCertificate(ca, request)
  return renderKubeconfig({
    server,
    caPem: ca.certPem,
    clientCertPem: certPem,
    clientKeyPem: keyPem,
    user,
    cluster: 'platnet',
  })
}

/** Returns the signer of certificate requests: the CA of the data directory, read at each signature. */
export function requestSigner(dataDir: string): RequestSigner {
  const { pki } = dataPaths(dataDir)
  return {
    read: readCertificateRequest,
    sign: async (requestPem, usages, seconds) =>
      signRequest(await ensureClusterCa(pki), requestPem, { usages, seconds }),
  }
}

/** Ensures the agent's serving certificate, signed by the cluster's CA if its key is on this machine, else by a CA of the agent. */
export async function ensureAgentTls(
  dataDir: string,
  node: { readonly name: string; readonly ip: Ip | undefined },
): Promise<{ certPem: string; keyPem: string }> {
  const { pki } = await makeDataDir(dataDir)
  const ca = await ensureClusterCa(pki)
  return ensureCertificate(ca, pki, 'agent-serving', {
    commonName: node.name,
    dnsNames: ['localhost', node.name],
    ips: [...new Set([...reachableAddresses(unspecifiedIpv4), ...(node.ip ? [node.ip] : [])])],
    usages: ['server'],
    days: certificateDays,
  })
}

/** Ensures the certificate that Ingresses without one of their own are served with; no client trusts it for a name of its own. */
export async function ensureIngressCertificate(dataDir: string): Promise<{ certPem: string; keyPem: string }> {
  const { pki } = await makeDataDir(dataDir)
  const ca = await ensureClusterCa(pki)
  return ensureCertificate(ca, pki, 'ingress-default', {
    commonName: 'ingress default certificate',
    // A name that no client asks for (RFC 6761 section 6.4).
    dnsNames: ['ingress.invalid'],
    usages: ['server'],
    days: certificateDays,
  })
}

async function makeDataDir(dataDir: string): Promise<ReturnType<typeof dataPaths>> {
  const paths = dataPaths(dataDir)
  await makeFolder(paths.pki, '--data-dir')
  return paths
}

interface ClientIdentity {
  readonly name: string
  readonly commonName: string
  readonly organizations: readonly string[]
}

async function writeKubeconfig(
  ca: ClusterCa,
  pki: string,
  path: string,
  server: string,
  client: ClientIdentity,
): Promise<void> {
  const { commonName, organizations } = client
  const request = { commonName, organizations, usages: ['client' as const], days: certificateDays }
  const { certPem, keyPem } = await ensureCertificate(ca, pki, client.name, request)
  const content = {
    server,
    caPem: ca.certPem,
    clientCertPem: certPem,
    clientKeyPem: keyPem,
    user: client.name,
    cluster: 'platnet',
  }
  await writeSecretFile(path, renderKubeconfig(content))
}

/** Returns the address at which this machine reaches the server: loopback if the server listens on all addresses, because loopback never changes. */
export function serverUrl(bindAddress: Ip, port: number): string {
  const host = isUnspecified(bindAddress) ? '127.0.0.1' : bindAddress
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Returns the addresses by which clients may name a server on this machine, those that its certificate covers. */
export function reachableAddresses(bindAddress: Ip): readonly Ip[] {
  const loopback = ['127.0.0.1', '::1']
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? [])
  const candidates = isUnspecified(bindAddress) ? [...loopback, ...own] : [...loopback, bindAddress]
  const ips = candidates.map(parseIp).filter((ip) => ip !== undefined)
  // Each pod's link brings a link-local address, and a certificate that had to name it would be issued anew at each start. No client reaches
  // a server by such an address without the name of a link.
  return [...new Set(ips.filter((ip) => specialKindOf(ip) !== 'link-local'))]
}

function firstAddress(cidr: Cidr): Ip {
  const { first, family } = cidrRange(cidr)
  return bigIntToIp(first + 1n, family)
}
