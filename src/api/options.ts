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
    description: 'The names of API groups and labels: platform or kubernetes; fixed once a data directory exists',
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
      'The network from which Services get their ClusterIP, or one of each family; the first one gives the default family of a Service',
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
      'Admission plugins in addition to NodeRestriction, which is always on: DenyServiceExternalIPs refuses new external addresses of Services',
    example: 'DenyServiceExternalIPs',
  },
  disableAdmissionPlugins: {
    schema: wordList(defaultAdmissionPlugins).optional(),
    flag: '--disable-admission-plugins <list>',
    reload: 'restart',
    commands,
    description:
      'Admission plugins to switch off: ServiceAccount, which in the kubernetes dialect adds the account and its token to each Pod',
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
    description: 'The issuer in the tokens of service accounts, and their audience when a request names none',
  },
  shutdownDelay: {
    schema: seconds,
    flag: '--shutdown-delay <seconds>',
    default: 0,
    reload: 'live',
    commands,
    description: 'How long the server still answers after it was asked to stop; /readyz fails meanwhile',
  },
  authorizationMode: {
    schema: z.enum(['RBAC', 'AlwaysAllow'], { error: 'expected RBAC or AlwaysAllow' }),
    flag: '--authorization-mode <mode>',
    default: 'RBAC',
    reload: 'restart',
    commands,
    description:
      'The authorization of requests: RBAC checks roles and bindings, AlwaysAllow allows every identity everything',
  },
  maxObjectBytes: {
    schema: byteSize(64 * 1024, 6 * 1024 * 1024),
    flag: '--max-object-bytes <bytes>',
    default: defaultLimits.maxObjectBytes,
    reload: 'live',
    commands,
    description: 'The size of one stored object as JSON; a write beyond it is answered 413',
  },
  maxStoreBytes: {
    schema: byteSize(16 * 1024 * 1024, 64 * 1024 ** 3).optional(),
    flag: '--max-store-bytes <bytes>',
    reload: 'live',
    commands,
    description:
      'The size limit of all objects together; a namespace may use half of the free space. A quarter of the heap limit when not set',
    example: '512Mi',
  },
  maxRequestsInflight: {
    schema: wholeNumber(8, 100_000),
    flag: '--max-requests-inflight <number>',
    default: defaultLimits.maxReads,
    reload: 'live',
    commands,
    description: 'The limit of reading requests in progress; further ones get 429. One identity gets a share',
  },
  maxMutatingRequestsInflight: {
    schema: wholeNumber(8, 100_000),
    flag: '--max-mutating-requests-inflight <number>',
    default: defaultLimits.maxWrites,
    reload: 'live',
    commands,
    description: 'The limit of writing requests in progress; further ones get 429. One identity gets a share',
  },
  maxWatches: {
    schema: wholeNumber(64, 1_000_000),
    flag: '--max-watches <number>',
    default: defaultLimits.maxWatches,
    reload: 'live',
    commands,
    description:
      'The limit of open watches, and of twice as many connections; further ones get 429. One identity gets a share',
  },
})
