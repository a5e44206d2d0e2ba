type Fields = Readonly<Record<string, unknown>>

const room = { cpu: '2', memory: '4Gi', pods: '5' }
const zone = 'topology.kubernetes.io/zone'

/** Three nodes to choose from, one closed, one tainted. */
export const nodes: readonly { name: string; labels?: Fields; spec?: Fields; allocatable: Fields }[] = [
  { name: 'a', labels: { [zone]: 'east', disk: 'ssd', cores: '8' }, allocatable: room },
  { name: 'b', labels: { [zone]: 'east', cores: '16' }, allocatable: { ...room, 'example.com/gpu': '1' } },
  { name: 'c', labels: { [zone]: 'west' }, allocatable: { ...room, pods: '3' } },
  { name: 'closed', labels: { [zone]: 'west' }, spec: { unschedulable: true }, allocatable: room },
  {
    name: 'tainted',
    spec: { taints: [{ key: 'dedicated', value: 'db', effect: 'NoSchedule' }] },
    allocatable: room,
  },
]

const hostPort = (port: number) => ({
  containers: [{ name: 'main', image: 'main', ports: [{ containerPort: 80, hostPort: port }] }],
})
const requests = (amounts: Fields) => ({
  containers: [{ name: 'main', image: 'main', resources: { requests: amounts, limits: amounts } }],
})
const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const nearTo = (app: string, topologyKey: string, more: Fields = {}) => ({
  labelSelector: { matchLabels: { app } },
  topologyKey,
  ...more,
})
const nodeAffinity = (...nodeSelectorTerms: Fields[]) => ({
  affinity: { nodeAffinity: { [required]: { nodeSelectorTerms } } },
})
const tolerations = [{ key: 'dedicated', operator: 'Exists' }]

/** Pods that have their nodes. */
export const placed: readonly { name: string; namespace?: string; labels?: Fields; spec: Fields }[] = [
  { name: 'web', labels: { app: 'web' }, spec: { nodeName: 'a', ...hostPort(8080) } },
  { name: 'db', namespace: 'other', labels: { app: 'db' }, spec: { nodeName: 'b', ...requests({ cpu: '1500m' }) } },
  {
    name: 'lonely',
    labels: { app: 'lonely' },
    spec: { nodeName: 'c', affinity: { podAntiAffinity: { [required]: [nearTo('noisy', zone)] } } },
  },
  { name: 'spread', labels: { app: 'spread' }, spec: { nodeName: 'a' } },
]

const spread = (more: Fields = {}) => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: zone,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'spread' } },
      ...more,
    },
  ],
})

interface Case {
  readonly title: string
  readonly labels?: Fields
  readonly spec: Fields
  readonly fate: RegExp
  /** The peer does without looking at every node, and says so. */
  readonly inOtherWords?: boolean
}

/** One pod at a time, with what becomes of it. */
export const waiting: readonly Case[] = [
  { title: 'asks for nothing', spec: {}, fate: /placed/ },
  { title: 'asks for more than anybody has', spec: requests({ cpu: '64' }), fate: /3 Insufficient cpu/ },
  { title: 'asks for more of two things', spec: requests({ cpu: '64', memory: '1Ti' }), fate: /Insufficient memory/ },
  { title: 'asks for what is left', spec: requests({ cpu: '2' }), fate: /placed/ },
  { title: 'asks for a device', spec: requests({ 'example.com/gpu': '1' }), fate: /placed/ },
  {
    title: 'asks for too many devices',
    spec: requests({ 'example.com/gpu': '2' }),
    fate: /Insufficient example.com.gpu/,
  },
  {
    title: 'selects a label that no node has',
    spec: { nodeSelector: { disk: 'tape' } },
    fate: /didn't match Pod's node affinity/,
  },
  { title: 'selects a label', spec: { nodeSelector: { disk: 'ssd' } }, fate: /placed/ },
  {
    title: 'wants more cores',
    spec: nodeAffinity({ matchExpressions: [{ key: 'cores', operator: 'Gt', values: ['12'] }] }),
    fate: /placed/,
  },
  {
    title: 'wants too many cores',
    spec: nodeAffinity({ matchExpressions: [{ key: 'cores', operator: 'Gt', values: ['64'] }] }),
    fate: /node affinity/,
  },
  {
    title: 'wants one node by name',
    spec: nodeAffinity({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['closed'] }] }),
    inOtherWords: true,
    fate: /0\/5 nodes are available/,
  },
  {
    title: 'wants a node that is not there',
    spec: nodeAffinity({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['nowhere'] }] }),
    inOtherWords: true,
    fate: /0\/5 nodes are available/,
  },
  { title: 'wants a node by an empty term', spec: nodeAffinity({}), fate: /0\/5 nodes are available/ },
  {
    title: 'tolerates the taint',
    spec: { tolerations, nodeSelector: { 'kubernetes.io/hostname': 'tainted' } },
    fate: /placed/,
  },
  {
    title: 'does not tolerate the taint',
    spec: { nodeSelector: { 'kubernetes.io/hostname': 'tainted' } },
    fate: /untolerated taint/,
  },
  {
    title: 'tolerates another value of the taint',
    spec: {
      tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'web', effect: 'NoSchedule' }],
      nodeSelector: { 'kubernetes.io/hostname': 'tainted' },
    },
    fate: /untolerated taint/,
  },
  {
    title: 'tolerates everything',
    spec: { tolerations: [{ operator: 'Exists' }], nodeSelector: { 'kubernetes.io/hostname': 'closed' } },
    fate: /placed/,
  },
  {
    title: 'wants a port that is taken',
    spec: { ...hostPort(8080), nodeSelector: { disk: 'ssd' } },
    fate: /free ports/,
  },
  { title: 'wants a port that is free', spec: { ...hostPort(8081), nodeSelector: { disk: 'ssd' } }, fate: /placed/ },
  {
    title: 'wants to be with others',
    spec: { affinity: { podAffinity: { [required]: [nearTo('web', zone)] } } },
    fate: /placed/,
  },
  {
    title: 'has affinity to a pod that does not exist',
    spec: { affinity: { podAffinity: { [required]: [nearTo('absent', zone)] } } },
    fate: /didn't match pod affinity rules/,
  },
  {
    title: 'wants to be with its like as the first one',
    labels: { app: 'first' },
    spec: { affinity: { podAffinity: { [required]: [nearTo('first', zone)] } } },
    fate: /placed/,
  },
  {
    title: 'wants to be with others elsewhere',
    spec: { affinity: { podAffinity: { [required]: [nearTo('db', zone)] } } },
    fate: /didn't match pod affinity rules/,
  },
  {
    title: 'wants to be with others of a namespace by its labels',
    spec: {
      affinity: {
        podAffinity: { [required]: [nearTo('db', zone, { namespaceSelector: { matchLabels: { team: 'blue' } } })] },
      },
    },
    fate: /placed/,
  },
  {
    title: 'wants to be away from others',
    spec: {
      nodeSelector: { disk: 'ssd' },
      affinity: { podAntiAffinity: { [required]: [nearTo('web', 'kubernetes.io/hostname')] } },
    },
    fate: /anti-affinity rules/,
  },
  {
    title: 'is not wanted by another',
    labels: { app: 'noisy' },
    spec: { nodeSelector: { [zone]: 'west' } },
    fate: /existing pods anti-affinity/,
  },
  { title: 'spreads', labels: { app: 'spread' }, spec: spread(), fate: /placed/ },
  {
    title: 'cannot spread',
    labels: { app: 'spread' },
    spec: { ...spread({ nodeAffinityPolicy: 'Ignore' }), nodeSelector: { disk: 'ssd' } },
    fate: /topology spread constraints/,
  },
  {
    title: 'spreads over too few domains',
    labels: { app: 'spread' },
    spec: { ...spread({ minDomains: 3 }), nodeSelector: { [zone]: 'east' } },
    fate: /topology spread constraints/,
  },
  {
    title: 'spreads by a label that few have',
    labels: { app: 'spread' },
    spec: spread({ topologyKey: 'disk' }),
    fate: /missing required label|placed/,
  },
  { title: 'is held by a gate', spec: { schedulingGates: [{ name: 'example.com/wait' }] }, fate: /SchedulingGated/ },
]
