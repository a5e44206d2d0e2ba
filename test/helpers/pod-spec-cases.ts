import { type PodCase, podCase as pod } from './pod-case.ts'

const http = { httpGet: { path: '/', port: 80 } }
const volume = { name: 'data', emptyDir: {} }
const c0 = 'spec.containers[0]'
const v0 = 'spec.volumes[0]'

const volumes = (title: string, source: object, ...errors: string[]) =>
  pod(`volume: ${title}`, { volumes: [{ name: 'data', ...source }] }, ...errors)

const init = (fields: object) => ({ initContainers: [{ name: 'first', image: 'init:1', ...fields }] })
const node = (operator: string, values: string[], key = 'zone') => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
})
const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'
const nodeTerms = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`
const spread = (fields: object) => ({
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', ...fields }],
})
const s0 = 'spec.topologySpreadConstraints[0]'

/** Each is one step away from a valid spec. */
export const podSpecCases: readonly PodCase[] = [
  pod('no containers', { containers: [] }, 'spec.containers'),
  pod('a restart policy that is none', { restartPolicy: 'Sometimes' }, 'spec.restartPolicy'),
  pod('a DNS policy that is none', { dnsPolicy: 'Mine' }, 'spec.dnsPolicy'),
  pod('no DNS', { dnsPolicy: 'None' }, 'spec.dnsConfig'),
  pod('no DNS server', { dnsPolicy: 'None', dnsConfig: { searches: ['a'] } }, 'spec.dnsConfig.nameservers'),
  pod(
    'four DNS servers',
    { dnsConfig: { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] } },
    'spec.dnsConfig.nameservers',
  ),
  pod('a DNS server that is no address', { dnsConfig: { nameservers: ['dns'] } }, 'spec.dnsConfig.nameservers[0]'),
  pod('a search domain in capitals', { dnsConfig: { searches: ['A.example'] } }, 'spec.dnsConfig.searches[0]'),
  pod('a search domain with an underscore and the root', { dnsConfig: { searches: ['_a.example', '.'] } }),
  pod(
    '33 search domains',
    { dnsConfig: { searches: Array.from({ length: 33 }, (_, index) => `a${index}`) } },
    'spec.dnsConfig.searches',
  ),
  pod('a DNS option without name', { dnsConfig: { options: [{ value: '1' }] } }, 'spec.dnsConfig.options[0]'),
  pod('a host name with a dot', { hostname: 'a.b' }, 'spec.hostname'),
  pod('a subdomain in capitals', { subdomain: 'A' }, 'spec.subdomain'),
  pod('a node name in capitals', { nodeName: 'Node' }, 'spec.nodeName'),
  pod('a service account in capitals', { serviceAccountName: 'Me' }, 'spec.serviceAccountName'),
  pod('a deadline of 0', { activeDeadlineSeconds: 0 }, 'spec.activeDeadlineSeconds'),
  pod('a node selector with a bad key', { nodeSelector: { 'a b': 'c' } }, 'spec.nodeSelector'),
  pod('a host alias that is no address', { hostAliases: [{ ip: 'here', hostnames: ['a'] }] }, 'spec.hostAliases[0].ip'),
  pod(
    'a host alias with a bad name',
    { hostAliases: [{ ip: '1.2.3.4', hostnames: ['A'] }] },
    'spec.hostAliases[0].hostnames[0]',
  ),
  pod('a toleration of nothing', { tolerations: [{ operator: 'Equal' }] }, 'spec.tolerations[0].operator'),
  pod(
    'a toleration with an operator that is none',
    { tolerations: [{ key: 'a', operator: 'Like' }] },
    'spec.tolerations[0].operator',
  ),
  pod(
    'a toleration of an effect that is none',
    { tolerations: [{ key: 'a', operator: 'Exists', effect: 'Never' }] },
    'spec.tolerations[0].effect',
  ),
  pod(
    'a toleration that ends without NoExecute',
    { tolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: 5 }] },
    'spec.tolerations[0].effect',
  ),
  pod(
    'a toleration of existence with a value',
    { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
    'spec.tolerations[0].operator',
  ),
  pod('a gate twice', { schedulingGates: [{ name: 'a.b/c' }, { name: 'a.b/c' }] }, 'spec.schedulingGates[1]'),
  pod('a gate with a bad name', { schedulingGates: [{ name: 'a b' }] }, 'spec.schedulingGates[0]'),
  pod('a gate and a node', { nodeName: 'n', schedulingGates: [{ name: 'a.b/c' }] }, 'spec.nodeName'),
  pod(
    'a readiness gate with a bad name',
    { readinessGates: [{ conditionType: 'a b' }] },
    'spec.readinessGates[0].conditionType',
  ),
  pod('node affinity by an operator that is none', node('Near', ['a']), `${nodeTerms}[0].matchExpressions[0].operator`),
  pod('node affinity in nothing', node('In', []), `${nodeTerms}[0].matchExpressions[0].values`),
  pod('node affinity above two values', node('Gt', ['1', '2']), `${nodeTerms}[0].matchExpressions[0].values`),
  pod('node affinity by a bad key', node('Exists', [], 'a b'), `${nodeTerms}[0].matchExpressions[0].key`),
  pod(
    'node affinity without terms',
    { affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [] } } } },
    nodeTerms,
  ),
  pod(
    'node affinity by a field that is none',
    {
      affinity: {
        nodeAffinity: {
          [required]: { nodeSelectorTerms: [{ matchFields: [{ key: 'spec.x', operator: 'In', values: ['a'] }] }] },
        },
      },
    },
    `${nodeTerms}[0].matchFields[0].key`,
  ),
  pod(
    'preferred node affinity of weight 0',
    { affinity: { nodeAffinity: { [preferred]: [{ weight: 0, preference: {} }] } } },
    `spec.affinity.nodeAffinity.${preferred}[0].weight`,
  ),
  pod(
    'pod affinity without a topology',
    { affinity: { podAffinity: { [required]: [{ labelSelector: { matchLabels: { a: 'b' } } }] } } },
    `spec.affinity.podAffinity.${required}[0].topologyKey`,
    `spec.affinity.podAffinity.${required}[0].topologyKey`,
  ),
  pod(
    'pod anti-affinity of weight 101',
    { affinity: { podAntiAffinity: { [preferred]: [{ weight: 101, podAffinityTerm: { topologyKey: 'zone' } }] } } },
    `spec.affinity.podAntiAffinity.${preferred}[0].weight`,
  ),
  pod(
    'pod affinity by label keys without a selector',
    { affinity: { podAffinity: { [required]: [{ topologyKey: 'zone', matchLabelKeys: ['a'] }] } } },
    `spec.affinity.podAffinity.${required}[0].matchLabelKeys`,
  ),
  pod('spread without skew', spread({ maxSkew: 0 }), `${s0}.maxSkew`),
  pod('spread without a topology', spread({ topologyKey: '' }), `${s0}.topologyKey`),
  pod('spread by an action that is none', spread({ whenUnsatisfiable: 'Wait' }), `${s0}.whenUnsatisfiable`),
  pod('spread over 0 domains', spread({ minDomains: 0 }), `${s0}.minDomains`),
  pod('spread by a policy that is none', spread({ nodeTaintsPolicy: 'Maybe' }), `${s0}.nodeTaintsPolicy`),
  pod(
    'host network with another host port',
    { hostNetwork: true, containers: [{ name: 'web', image: 'a', ports: [{ containerPort: 80, hostPort: 81 }] }] },
    `${c0}.ports[0].hostPort`,
  ),
  pod('host network without host ports', {
    hostNetwork: true,
    containers: [{ name: 'web', image: 'a', ports: [{ containerPort: 80 }] }],
  }),
  pod('own users on the host network', { hostUsers: false, hostNetwork: true }, 'spec.hostNetwork'),
  pod(
    'shared processes on the host processes',
    { shareProcessNamespace: true, hostPID: true },
    'spec.securityContext.shareProcessNamespace',
  ),
  pod('a negative group', { securityContext: { fsGroup: -1 } }, 'spec.securityContext.fsGroup'),
  pod(
    'a sysctl with a bad name',
    { securityContext: { sysctls: [{ name: 'Net', value: '1' }] } },
    'spec.securityContext.sysctls[0].name',
  ),
  pod(
    'a sysctl twice',
    {
      securityContext: {
        sysctls: [
          { name: 'net.a', value: '1' },
          { name: 'net.a', value: '1' },
        ],
      },
    },
    'spec.securityContext.sysctls[1].name',
  ),
  pod(
    'a sysctl of the host network',
    { hostNetwork: true, securityContext: { sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }] } },
    'spec.securityContext.sysctls[0].name',
  ),
  pod('an operating system that is none', { os: { name: 'plan9' } }, 'spec.os'),
  pod('ephemeral containers', { ephemeralContainers: [{ name: 'debug', image: 'a' }] }, 'spec.ephemeralContainers'),
  pod('an init container of the same name', init({ name: 'web' }), 'spec.initContainers[0].name'),
  pod('an init container with a probe', init({ livenessProbe: http }), 'spec.initContainers[0].livenessProbe'),
  pod('an init container that runs on, with a probe', init({ restartPolicy: 'Always', livenessProbe: http })),
  pod(
    'an init container that restarts sometimes',
    init({ restartPolicy: 'Sometimes' }),
    'spec.initContainers[0].restartPolicy',
  ),
  pod('a resource claim from nowhere', { resourceClaims: [{ name: 'gpu' }] }, 'spec.resourceClaims[0]'),
  pod('overhead below nothing', { overhead: { cpu: '-1' } }, 'spec.overhead.limits[cpu]'),
]

const ephemeral = {
  volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
}

export const volumeCases: readonly PodCase[] = [
  pod('a volume twice', { volumes: [volume, volume] }, 'spec.volumes[1].name'),
  pod('a volume in capitals', { volumes: [{ name: 'Data', emptyDir: {} }] }, `${v0}.name`),
  volumes('nothing', {}),
  volumes('two kinds', { emptyDir: {}, hostPath: { path: '/x' } }, `${v0}.hostPath`),
  volumes('a host path upwards', { hostPath: { path: '/x/../y' } }, `${v0}.hostPath.path`),
  volumes('a host path of a type that is none', { hostPath: { path: '/x', type: 'Pipe' } }, `${v0}.hostPath.type`),
  volumes('a Secret without name', { secret: {} }, `${v0}.secret.secretName`),
  volumes('a Secret with a bad mode', { secret: { secretName: 's', defaultMode: 1000 } }, `${v0}.secret.defaultMode`),
  volumes(
    'a Secret item upwards',
    { secret: { secretName: 's', items: [{ key: 'a', path: '../b' }] } },
    `${v0}.secret.items[0].path`,
  ),
  volumes('a ConfigMap without name', { configMap: {} }, `${v0}.configMap.name`),
  volumes(
    'a ConfigMap item without key',
    { configMap: { name: 'c', items: [{ path: 'b' }] } },
    `${v0}.configMap.items[0].key`,
  ),
  volumes(
    'a claim without name',
    { persistentVolumeClaim: { claimName: '' } },
    `${v0}.persistentVolumeClaim.claimName`,
  ),
  volumes('NFS with a relative path', { nfs: { server: 's', path: 'x' } }, `${v0}.nfs.path`),
  volumes('labels as a file', { downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } }),
  volumes('a file of nothing', { downwardAPI: { items: [{ path: 'l' }] } }, `${v0}.downwardAPI`),
  volumes(
    'a file of an address',
    { downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'status.podIP' } }] } },
    `${v0}.downwardAPI.fieldRef.fieldPath`,
  ),
  volumes(
    'a short-lived token',
    { projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 60 } }] } },
    `${v0}.projected.sources[0].serviceAccountToken.expirationSeconds`,
  ),
  volumes(
    'one file from two sources',
    {
      projected: {
        sources: [
          { secret: { name: 's', items: [{ key: 'a', path: 'f' }] } },
          { configMap: { name: 'c', items: [{ key: 'a', path: 'f' }] } },
        ],
      },
    },
    `${v0}.projected`,
  ),
  volumes(
    'a source of two kinds',
    { projected: { sources: [{ secret: { name: 's' }, configMap: { name: 'c' } }] } },
    `${v0}.projected.sources[0]`,
  ),
  volumes('a CSI driver without name', { csi: { driver: '' } }, `${v0}.csi.driver`, `${v0}.csi.driver`),
  volumes(
    'a claim of its own without size',
    { ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'] } } } },
    `${v0}.ephemeral.volumeClaimTemplate.spec.resources[storage]`,
  ),
  {
    title: 'a claim of its own whose name is too long',
    name: 'a'.repeat(249),
    spec: { volumes: [{ name: 'data', ephemeral }] },
    errors: [`${v0}.name`],
  },
  {
    title: 'a claim of its own whose name is as long as it may be',
    name: 'a'.repeat(248),
    spec: { volumes: [{ name: 'data', ephemeral }] },
    errors: [],
  },
  pod(
    'a claim that is made for another volume',
    {
      volumes: [
        { name: 'data', ephemeral },
        { name: 'more', persistentVolumeClaim: { claimName: 'web-data' } },
      ],
    },
    'spec.volumes[1].persistentVolumeClaim.claimName',
  ),
  volumes('a negative size', { emptyDir: { sizeLimit: '-1' } }, `${v0}.emptyDir.sizeLimit`),
]

export const annotatedCases: readonly PodCase[] = [
  {
    title: 'a mirror Pod without a node',
    annotations: { 'kubernetes.io/config.mirror': 'x' },
    errors: ['metadata.annotations[kubernetes.io/config.mirror]'],
  },
  {
    title: 'a deletion cost that is no number',
    annotations: { 'controller.kubernetes.io/pod-deletion-cost': 'much' },
    errors: ['metadata.annotations[controller.kubernetes.io/pod-deletion-cost]'],
  },
]
