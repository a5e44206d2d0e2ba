/** A body with unknown and duplicate fields, and what kube-apiserver 1.34 says of it. */
export interface FieldValidationCase {
  readonly title: string
  readonly kind: 'Service' | 'Gauge'
  readonly method: 'POST' | 'PUT' | 'PATCH'
  /** What follows `application/` in the content type. */
  readonly type: string
  readonly body: string
  /** What the message of `Strict` ends with. */
  readonly strict: string
  /** Of `Warn`; undefined where the request is refused all the same. */
  readonly warnings: readonly string[] | undefined
}

export const gauges = '/apis/checks.example.com/v1/namespaces/default/gauges'

export const gaugeDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gauges.checks.example.com' },
  spec: {
    group: 'checks.example.com',
    scope: 'Namespaced',
    names: { plural: 'gauges', kind: 'Gauge' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: { type: 'integer' },
                  open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  parts: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
}

/** The object that a PUT or PATCH finds; NAME stands for its name, and REVISION for its resourceVersion. */
export const validBodies = {
  Service: '{"apiVersion":"v1","kind":"Service","metadata":{"name":"NAME"},"spec":{"ports":[{"port":80}]}}',
  Gauge: '{"apiVersion":"checks.example.com/v1","kind":"Gauge","metadata":{"name":"NAME"},"spec":{"size":1}}',
} as const

const service = (fields: string, metadata = '') =>
  `{"apiVersion":"v1","kind":"Service","metadata":{"name":"NAME"${metadata}},${fields}}`
const gauge = (fields: string, metadata = '') =>
  `{"apiVersion":"checks.example.com/v1","kind":"Gauge","metadata":{"name":"NAME"${metadata}},${fields}}`
const revision = ',"resourceVersion":"REVISION"'

const unknown = (path: string) => `unknown field "${path}"`
const duplicate = (path: string) => `duplicate field "${path}"`
const repeated = (line: number, key: string) => `line ${line}: key "${key}" already set in map`
const yamlErrors = (...lines: readonly string[]) => `yaml: unmarshal errors:\n  ${lines.join('\n  ')}`
const decoding = (...problems: readonly string[]) => `strict decoding error: ${problems.join(', ')}`

const mixed =
  '"spec":{"zoom":1,"selector":{"app":"a","app":"b"},"ports":[{"port":80,"port":81,"colour":"red"}],"age":2}'
const mixedProblems = [
  unknown('spec.zoom'),
  duplicate('spec.selector.app'),
  duplicate('spec.ports[0].port'),
  unknown('spec.ports[0].colour'),
  unknown('spec.age'),
]
const odd = '"zone":1,"spec":{"zoom":1,"size":1,"size":2,"age":2}'
const oddUnknown = [unknown('metadata.mark'), unknown('spec.age'), unknown('spec.zoom'), unknown('zone')]
const untyped = (what: string, ...errors: readonly string[]) =>
  `failed to create typed patch object (/NAME; ${what}): ${errors.length === 1 ? '' : 'errors:\n  '}${errors.join('\n  ')}`
const undeclared = (path: string) => `${path}: field not declared in schema`
const strictYaml = (...lines: readonly string[]) =>
  `error strict decoding YAML: error converting YAML to JSON: ${yamlErrors(...lines)}`

const judged = (
  title: string,
  request: Pick<FieldValidationCase, 'kind' | 'method' | 'type' | 'body'>,
  problems: readonly string[],
): FieldValidationCase => ({ title, ...request, strict: decoding(...problems), warnings: problems })

export const fieldValidationCases: readonly FieldValidationCase[] = [
  judged(
    'a built-in kind in JSON, in the order of the text',
    { kind: 'Service', method: 'POST', type: 'json', body: service(mixed) },
    mixedProblems,
  ),
  judged(
    'a replacement in JSON',
    {
      kind: 'Service',
      method: 'PUT',
      type: 'json',
      body: service('"spec":{"ports":[{"port":80}]},"b":1,"a":2', revision),
    },
    [unknown('b'), unknown('a')],
  ),
  judged(
    'an unknown field that stands twice',
    {
      kind: 'Service',
      method: 'POST',
      type: 'json',
      body: service('"spec":{"ports":[{"port":80}],"zoom":1,"zoom":2}'),
    },
    [unknown('spec.zoom')],
  ),
  judged(
    'a custom kind: first duplicates, then its metadata, then the rest',
    { kind: 'Gauge', method: 'POST', type: 'json', body: gauge(odd, ',"mark":1') },
    [duplicate('spec.size'), ...oddUnknown],
  ),
  {
    title: 'YAML: the lines of its reader, then unknown fields by name',
    kind: 'Service',
    method: 'POST',
    type: 'yaml',
    body: 'apiVersion: v1\nkind: Service\nmetadata:\n  name: NAME\nspec:\n  zoom: 1\n  ports:\n  - port: 80\n    port: 81\n  age: 1\n  age: 2\n',
    strict: decoding(yamlErrors(repeated(9, 'port'), repeated(11, 'age')), unknown('spec.age'), unknown('spec.zoom')),
    warnings: [repeated(9, 'port'), repeated(11, 'age'), unknown('spec.age'), unknown('spec.zoom')],
  },
  {
    title: 'a custom kind in YAML that is JSON',
    kind: 'Gauge',
    method: 'POST',
    type: 'yaml',
    body: gauge(odd, ',"mark":1'),
    strict: decoding(yamlErrors(repeated(1, 'size')), ...oddUnknown),
    warnings: [repeated(1, 'size'), ...oddUnknown],
  },
  judged(
    'a merge patch',
    {
      kind: 'Service',
      method: 'PATCH',
      type: 'merge-patch+json',
      body: '{"zone":1,"spec":{"zoom":1,"clusterIPs":null,"clusterIPs":null}}',
    },
    [duplicate('spec.clusterIPs'), unknown('spec.zoom'), unknown('zone')],
  ),
  judged(
    'a strategic merge patch',
    {
      kind: 'Service',
      method: 'PATCH',
      type: 'strategic-merge-patch+json',
      body: '{"metadata":{"mark":1},"spec":{"ports":[{"port":80,"colour":"red"}]}}',
    },
    [unknown('metadata.mark'), unknown('spec.ports[0].colour')],
  ),
  judged(
    'a merge patch of a custom kind',
    {
      kind: 'Gauge',
      method: 'PATCH',
      type: 'merge-patch+json',
      body: '{"metadata":{"mark":1},"spec":{"zoom":1,"open":{"any":1}}}',
    },
    [unknown('metadata.mark'), unknown('spec.zoom')],
  ),
  judged(
    'a JSON patch',
    {
      kind: 'Service',
      method: 'PATCH',
      type: 'json-patch+json',
      body: '[{"op":"add","path":"/zone","value":1,"why":2}]',
    },
    ['json patch unknown field "[0].why"', unknown('zone')],
  ),
  {
    title: 'an apply of a built-in kind with an unknown field',
    kind: 'Service',
    method: 'PATCH',
    type: 'apply-patch+yaml',
    body: service('"spec":{"ports":[{"port":80,"colour":"red"}]}'),
    strict: untyped('/v1, Kind=Service', undeclared('.spec.ports[port=80,protocol="TCP"].colour')),
    warnings: undefined,
  },
  {
    title: 'an apply of a custom kind with unknown fields',
    kind: 'Gauge',
    method: 'PATCH',
    type: 'apply-patch+yaml',
    body: gauge('"spec":{"parts":[{"name":"a","colour":"red"}],"open":{"any":1}}', ',"mark":1'),
    strict: untyped(
      'checks.example.com/v1, Kind=Gauge',
      undeclared('.metadata.mark'),
      undeclared('.spec.parts[name="a"].colour'),
    ),
    warnings: undefined,
  },
  {
    title: 'an apply with a field that stands twice',
    kind: 'Gauge',
    method: 'PATCH',
    type: 'apply-patch+yaml',
    body: 'apiVersion: checks.example.com/v1\nkind: Gauge\nmetadata:\n  name: NAME\nspec:\n  size: 1\n  size: 2\n',
    strict: strictYaml(repeated(7, 'size')),
    warnings: [repeated(7, 'size')],
  },
]

/** The texts of a Warning header. */
export function warningTexts(header: unknown): readonly string[] {
  return String(header ?? '')
    .split(/, (?=299)/)
    .filter((text) => text !== '')
    .map((text) => text.replace(/^299 - "(.*)"$/s, '$1').replaceAll('\\"', '"'))
}
