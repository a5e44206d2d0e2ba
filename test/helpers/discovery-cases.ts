/** What a client accepts, and what `/apis` gives it: the code, the media type, and whether all groups come in one document. */
export interface DiscoveryCase {
  readonly accept: string
  readonly code: 200 | 406
  readonly type: string
  readonly isAggregated: boolean
}

const all = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const json = 'application/json'
const yaml = 'application/yaml'
const protobuf = 'application/vnd.kubernetes.protobuf'

const plain = (accept: string, type: string): DiscoveryCase => ({ accept, code: 200, type, isAggregated: false })
const whole = (accept: string, type: string): DiscoveryCase => ({ accept, code: 200, type, isAggregated: true })
const none = (accept: string): DiscoveryCase => ({ accept, code: 406, type: json, isAggregated: false })

/** Checked beside kube-apiserver 1.34 by `test/long/api/discovery-peer.test.ts`. */
export const discoveryCases: readonly DiscoveryCase[] = [
  plain('*/*', json),
  plain(json, json),
  plain(yaml, yaml),
  plain(protobuf, protobuf),
  plain(`${protobuf},${json}`, protobuf),
  plain(`${json},${protobuf}`, json),
  plain(`${json};q=0.3,${yaml};q=0.9`, yaml),
  plain(`${yaml};q=0.9,${json};q=0.3`, yaml),
  plain(`text/html,${json};q=0.9,*/*;q=0.8`, json),
  plain(`*/*,${yaml}`, yaml),
  plain(`${json};as=Table;v=v1;g=meta.k8s.io,${json}`, json),
  plain(`${json};charset=utf-8`, json),
  // client-go, kubectl and controller-runtime; those before 1.30 know only the beta, which 1.34 serves no more.
  whole(`${json};${all},${json};g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,${json}`, json),
  plain(`${json};g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,${json}`, json),
  whole(`${json};${all}`, json),
  whole(`${json},${json};${all}`, json),
  whole(`${json};q=0.5,${json};${all};q=0.1`, json),
  whole(`${json} ; g=apidiscovery.k8s.io ; v=v2 ; as=APIGroupDiscoveryList`, json),
  whole(`${yaml};${all}`, yaml),
  whole(`${protobuf};${all}`, protobuf),
  whole(`${protobuf};${all},${json}`, protobuf),
  whole(`${json};${all};q=0.2,${protobuf};${all};q=0.7`, protobuf),
  whole(`*/*;${all}`, json),
  none('application/xml'),
  none('text/html'),
  none(`${json};g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList`),
  none(`${json};g=apidiscovery.k8s.io;v=v1;as=APIGroupDiscoveryList`),
  none(`${json};as=Table;v=v1;g=meta.k8s.io`),
  none(`${json};as=APIGroupDiscoveryList`),
]
