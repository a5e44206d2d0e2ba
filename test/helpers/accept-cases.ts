import { load } from 'js-yaml'
import type { Reply } from './api-server.ts'

/** An Accept header for the list, an object or a watch of ConfigMaps, and the answer: its code, media type, kind and apiVersion. */
export interface AcceptCase {
  readonly of: 'list' | 'object' | 'watch'
  readonly accept: string
  readonly answer: readonly [number, string, string | undefined, string | undefined]
}

const json = 'application/json'
const yaml = 'application/yaml'
const as = (kind: string, version = 'v1', type = json) => `${type};as=${kind};v=${version};g=meta.k8s.io`
const [v1, beta] = ['meta.k8s.io/v1', 'meta.k8s.io/v1beta1']

export const acceptCases: readonly AcceptCase[] = [
  { of: 'list', accept: '', answer: [200, json, 'ConfigMapList', 'v1'] },
  { of: 'list', accept: `${json};q=0`, answer: [200, json, 'ConfigMapList', 'v1'] },
  { of: 'list', accept: `${json};stream=watch`, answer: [200, json, 'ConfigMapList', 'v1'] },
  { of: 'list', accept: `${json};stream=other`, answer: [406, json, 'Status', 'v1'] },
  { of: 'list', accept: `${as('Other')}, ${json}`, answer: [200, json, 'ConfigMapList', 'v1'] },
  { of: 'list', accept: as('Table'), answer: [200, json, 'Table', v1] },
  { of: 'list', accept: as('Table', 'v1beta1'), answer: [200, json, 'Table', beta] },
  { of: 'list', accept: as('Table', 'v2'), answer: [406, json, 'Status', 'v1'] },
  { of: 'list', accept: as('Table', 'v1', yaml), answer: [200, yaml, 'Table', v1] },
  { of: 'list', accept: as('Table', 'v1', '*/*'), answer: [200, json, 'Table', v1] },
  { of: 'list', accept: `${json};as=Table;v=v1`, answer: [406, json, 'Status', 'v1'] },
  { of: 'list', accept: `${json};as=Table;g=meta.k8s.io`, answer: [406, json, 'Status', 'v1'] },
  { of: 'list', accept: `${json};as=Table;v=v1;g=other`, answer: [406, json, 'Status', 'v1'] },
  { of: 'list', accept: `${as('Table')};q=0.5, ${json};q=0.9`, answer: [200, json, 'ConfigMapList', 'v1'] },
  { of: 'list', accept: as('PartialObjectMetadataList'), answer: [200, json, 'PartialObjectMetadataList', v1] },
  {
    of: 'list',
    accept: as('PartialObjectMetadataList', 'v1beta1'),
    answer: [200, json, 'PartialObjectMetadataList', beta],
  },
  {
    of: 'list',
    accept: as('PartialObjectMetadataList', 'v1', yaml),
    answer: [200, yaml, 'PartialObjectMetadataList', v1],
  },
  { of: 'list', accept: as('PartialObjectMetadata', 'v1beta1'), answer: [406, json, 'Status', 'v1'] },
  { of: 'list', accept: 'application/cbor', answer: [406, json, 'Status', 'v1'] },
  { of: 'list', accept: 'text/html', answer: [406, json, 'Status', 'v1'] },
  { of: 'object', accept: as('Table', 'v1beta1'), answer: [200, json, 'Table', beta] },
  { of: 'object', accept: as('PartialObjectMetadata', 'v1beta1'), answer: [200, json, 'PartialObjectMetadata', beta] },
  { of: 'object', accept: as('PartialObjectMetadata', 'v1', yaml), answer: [200, yaml, 'PartialObjectMetadata', v1] },
  { of: 'object', accept: as('PartialObjectMetadataList', 'v1beta1'), answer: [406, json, 'Status', 'v1'] },
  { of: 'watch', accept: as('Table', 'v1beta1'), answer: [200, json, 'Table', beta] },
  {
    of: 'watch',
    accept: as('PartialObjectMetadata', 'v1beta1'),
    answer: [200, json, 'PartialObjectMetadata', beta],
  },
  { of: 'watch', accept: `${json};stream=watch`, answer: [200, json, 'ConfigMap', 'v1'] },
  { of: 'watch', accept: as('Table', 'v1', yaml), answer: [406, json, 'Status', 'v1'] },
]

/** Returns what an answer shows of the case's expectation. */
export function shownBy(
  { of }: AcceptCase,
  { code, headers, bytes }: Pick<Reply, 'code' | 'headers' | 'bytes'>,
): AcceptCase['answer'] {
  const [line = ''] = of === 'watch' && code === 200 ? bytes.toString().split('\n') : [bytes.toString()]
  const value = load(line) as { kind?: string; apiVersion?: string; object?: { kind: string; apiVersion: string } }
  const { kind, apiVersion } = value.object ?? value
  return [code, String(headers['content-type']), kind, apiVersion]
}

/** Returns the path of a case's request; a watch ends after a second. */
export function pathOf({ of }: AcceptCase): string {
  const collection = '/api/v1/namespaces/default/configmaps'
  if (of === 'list') return collection
  return of === 'object' ? `${collection}/a` : `${collection}?watch=true&timeoutSeconds=1`
}
