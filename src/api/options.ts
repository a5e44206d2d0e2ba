import { z } from 'zod'
import {
  byteSize,
  declareOptions,
  dnsName,
  dualStackCidrs,
  filePath,
  httpUrl,
  ipAddress,
  portNumber,
  portRange,
  seconds,
  wholeNumber,
  wordList,
} from '../config/index.ts'
import { admissionPlugins, defaultAdmissionPlugins } from './access/admission.ts'
import { defaultLimits } from './limits.ts'

const commands = ['run', 'server'] as const

export const apiOptions = declareOptions({
  dialect: {
    schema: z.enum(['platform', 'kubernetes']),
    flag: '--dialect <name>',
    default: 'platform',
    reload: 'restart',
    commands,
    description: 'Whose names API groups and labels carry: platform or kubernetes; fixed once a data directory exists',
  },
  platformDomain: {
    schema: dnsName,
    flag: '--platform-domain <domain>',
    default: 'platform.internal',
    reload: 'restart',
    commands,
    description: 'The domain of API groups and labels in the platform dialect',
  },
  bindAddress: {
    schema: ipAddress,
    flag: '--bind-address <ip>',
    default: '0.0.0.0',
    reload: 'restart',
    commands,
    description: 'The address on which the API server listens',
  },
  securePort: {
    schema: portNumber,
    flag: '--secure-port <port>',
    default: 6443,
    reload: 'restart',
    commands,
    description: 'The HTTPS port of the API server',
  },
  serviceClusterIpRange: {
    schema: dualStackCidrs,
    flag: '--service-cluster-ip-range <cidr>',
    default: '10.96.0.0/12',
    reload: 'restart',
    commands,
    description:
      'The network from which Services get their ClusterIP, or one of each family; the family of the first is that of a Service that asks for none',
    example: '10.96.0.0/12,fd00:10:96::/112',
  },
  nodePortRange: {
    schema: portRange,
    flag: '--node-port-range <first-last>',
    default: '30000-32767',
    reload: 'restart',
    commands,
    description: 'The ports from which Services get their NodePort',
  },
  enableAdmissionPlugins: {
    schema: wordList(admissionPlugins),
    flag: '--enable-admission-plugins <list>',
    default: ['NodeRestriction'],
    reload: 'restart',
    commands,
    description:
      'Admission plugins beside those that are always on (NodeRestriction): DenyServiceExternalIPs lets no Service have a new external address',
    example: 'DenyServiceExternalIPs',
  },
  disableAdmissionPlugins: {
    schema: wordList(defaultAdmissionPlugins).optional(),
    flag: '--disable-admission-plugins <list>',
    reload: 'restart',
    commands,
    description:
      'Admission plugins to switch off: ServiceAccount, which in the kubernetes dialect gives each Pod its account and a token of it',
    example: 'ServiceAccount',
  },
  tokenAuthFile: {
    schema: filePath.optional(),
    flag: '--token-auth-file <file>',
    reload: 'restart',
    commands,
    description: 'A file of bearer tokens: token,user,uid,"groups" a line',
    example: '/etc/platnet/tokens.csv',
  },
  serviceAccountIssuer: {
    schema: httpUrl,
    flag: '--service-account-issuer <url>',
    default: 'https://kubernetes.default.svc.cluster.local',
    reload: 'restart',
    commands,
    description: 'Who the tokens of service accounts say they are from, and whom they are for when nothing is asked',
  },
  shutdownDelay: {
    schema: seconds,
    flag: '--shutdown-delay <seconds>',
    default: 0,
    reload: 'restart',
    commands,
    description: 'How long the server answers on after it was asked to stop, while /readyz fails already',
  },
  authorizationMode: {
    schema: z.enum(['RBAC', 'AlwaysAllow'], { error: 'expected RBAC or AlwaysAllow' }),
    flag: '--authorization-mode <mode>',
    default: 'RBAC',
    reload: 'restart',
    commands,
    description: 'Who may do what: RBAC asks roles and bindings, AlwaysAllow lets every identity do everything',
  },
  maxObjectBytes: {
    schema: byteSize(64 * 1024, 6 * 1024 * 1024),
    flag: '--max-object-bytes <bytes>',
    default: defaultLimits.maxObjectBytes,
    reload: 'restart',
    commands,
    description: 'The size of one stored object as JSON; a write beyond it is answered 413',
  },
  maxStoreBytes: {
    schema: byteSize(16 * 1024 * 1024, 64 * 1024 ** 3).optional(),
    flag: '--max-store-bytes <bytes>',
    reload: 'restart',
    commands,
    description:
      'What all objects may have together; a namespace may grow to what is left of it. A quarter of what the heap may be where it is not said',
    example: '512Mi',
  },
  maxRequestsInflight: {
    schema: wholeNumber(8, 100_000),
    flag: '--max-requests-inflight <number>',
    default: defaultLimits.maxReads,
    reload: 'restart',
    commands,
    description:
      'How many requests that read are worked on at once; the next is answered 429. One identity gets a share',
  },
  maxMutatingRequestsInflight: {
    schema: wholeNumber(8, 100_000),
    flag: '--max-mutating-requests-inflight <number>',
    default: defaultLimits.maxWrites,
    reload: 'restart',
    commands,
    description:
      'How many requests that write are worked on at once; the next is answered 429. One identity gets a share',
  },
  maxWatches: {
    schema: wholeNumber(64, 1_000_000),
    flag: '--max-watches <number>',
    default: defaultLimits.maxWatches,
    reload: 'restart',
    commands,
    description:
      'How many watches are open at once, and twice as many connections; the next is answered 429. One identity gets a share',
  },
})
