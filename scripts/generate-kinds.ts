// Writes src/api/schema/kinds.json, the fields of every built-in kind, from the Go modules that define them: `npm run generate:kinds`.
// Only facts are taken (names, numbers, types, list keys), no texts. Needs Go and its module cache or the network; nothing else runs this.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KindTables, Message, MessageField } from '../src/api/schema/kind-tables.ts'

const version = 'v0.34.4'
const target = new URL('../src/api/schema/kinds.json', import.meta.url)

interface Source {
  readonly module: string
  readonly folder: string
  /** As the proto files name it. */
  readonly package: string
  /** The first label of their group, and the version: `discovery/v1`; the rest of the group depends on the dialect. */
  readonly groupVersion: string
  readonly kinds: readonly string[]
}

const sources: readonly Source[] = [
  ofApi('core/v1', '/v1', [
    ...['Binding', 'ConfigMap', 'Endpoints', 'Event', 'LimitRange', 'Namespace', 'Node', 'PersistentVolume'],
    ...['PersistentVolumeClaim', 'Pod', 'PodTemplate', 'ReplicationController', 'ResourceQuota', 'Secret', 'Service'],
    'ServiceAccount',
  ]),
  ofApi('admissionregistration/v1', 'admissionregistration/v1', [
    ...['MutatingWebhookConfiguration', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
    'ValidatingWebhookConfiguration',
  ]),
  ofApi('apidiscovery/v2', 'apidiscovery/v2', ['APIGroupDiscoveryList']),
  ofApi('apps/v1', 'apps/v1', ['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet']),
  ofApi('authentication/v1', 'authentication/v1', ['SelfSubjectReview', 'TokenRequest', 'TokenReview']),
  ofApi('authorization/v1', 'authorization/v1', [
    ...['LocalSubjectAccessReview', 'SelfSubjectAccessReview', 'SelfSubjectRulesReview', 'SubjectAccessReview'],
  ]),
  ofApi('autoscaling/v1', 'autoscaling/v1', ['HorizontalPodAutoscaler', 'Scale']),
  ofApi('autoscaling/v2', 'autoscaling/v2', ['HorizontalPodAutoscaler']),
  ofApi('batch/v1', 'batch/v1', ['CronJob', 'Job']),
  ofApi('certificates/v1', 'certificates/v1', ['CertificateSigningRequest']),
  ofApi('coordination/v1', 'coordination/v1', ['Lease']),
  ofApi('discovery/v1', 'discovery/v1', ['EndpointSlice']),
  ofApi('events/v1', 'events/v1', ['Event']),
  ofApi('networking/v1', 'networking/v1', [
    ...['IPAddress', 'Ingress', 'IngressClass', 'NetworkPolicy', 'ServiceCIDR'],
  ]),
  ofApi('networking/v1beta1', 'networking/v1beta1', ['IPAddress', 'ServiceCIDR']),
  ofApi('node/v1', 'node/v1', ['RuntimeClass']),
  ofApi('policy/v1', 'policy/v1', ['Eviction', 'PodDisruptionBudget']),
  ofApi('rbac/v1', 'rbac/v1', ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']),
  ofApi('scheduling/v1', 'scheduling/v1', ['PriorityClass']),
  ofApi('storage/v1', 'storage/v1', [
    ...['CSIDriver', 'CSINode', 'CSIStorageCapacity', 'StorageClass', 'VolumeAttachment', 'VolumeAttributesClass'],
  ]),
  {
    module: 'k8s.io/apiextensions-apiserver',
    folder: 'pkg/apis/apiextensions/v1',
    package: 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1',
    groupVersion: 'apiextensions/v1',
    kinds: ['CustomResourceDefinition'],
  },
  {
    module: 'k8s.io/metrics',
    folder: 'pkg/apis/metrics/v1beta1',
    package: 'k8s.io.metrics.pkg.apis.metrics.v1beta1',
    groupVersion: 'metrics/v1beta1',
    kinds: ['NodeMetrics', 'PodMetrics'],
  },
  {
    module: 'k8s.io/apimachinery',
    folder: 'pkg/apis/meta/v1',
    package: 'k8s.io.apimachinery.pkg.apis.meta.v1',
    groupVersion: 'meta/v1',
    kinds: [
      ...['APIGroup', 'APIGroupList', 'APIResourceList', 'APIVersions'],
      ...['DeleteOptions', 'ObjectMeta', 'Status'],
    ],
  },
]

function ofApi(folder: string, groupVersion: string, kinds: readonly string[]): Source {
  return { module: 'k8s.io/api', folder, package: `k8s.io.api.${folder.replace('/', '.')}`, groupVersion, kinds }
}

/** Messages whose JSON is not the object that their fields say: the form it has instead. */
const forms: Readonly<Record<string, string>> = {
  'meta.v1.Time': 'time',
  'meta.v1.MicroTime': 'micro-time',
  'meta.v1.Duration': 'duration',
  'meta.v1.FieldsV1': 'raw-object',
  'meta.v1.Verbs': 'string-list',
  'pkg.runtime.RawExtension': 'raw-object',
  'api.resource.Quantity': 'quantity',
  'util.intstr.IntOrString': 'int-or-string',
  'authentication.v1.ExtraValue': 'string-list',
  'certificates.v1.ExtraValue': 'string-list',
  'authorization.v1.ExtraValue': 'string-list',
  'apiextensions.v1.JSONSchemaProps': 'json-schema',
}

interface ProtoField {
  readonly number: number
  readonly type: string
  readonly isRepeated: boolean
  readonly isMap: boolean
  readonly notes: readonly string[]
}

interface ProtoMessage {
  readonly isAtomic: boolean
  readonly fields: readonly ProtoField[]
}

/** `k8s.io.api.core.v1.Pod` is `core.v1.Pod`: the last two steps of the package tell all of ours apart. */
function shortName(fullName: string): string {
  return fullName.split('.').slice(-3).join('.')
}

function parseProto(source: Source, text: string): Map<string, ProtoMessage> {
  const messages = new Map<string, ProtoMessage>()
  const declaration = /((?:^\/\/.*\n)*)^message (\w+) \{\n([\s\S]*?)^\}/gm
  for (const [, notes = '', name = '', body = ''] of text.matchAll(declaration)) {
    const isAtomic = /\+structType=atomic/.test(notes)
    messages.set(shortName(`${source.package}.${name}`), { isAtomic, fields: parseFields(source, body) })
  }
  return messages
}

function parseFields(source: Source, body: string): readonly ProtoField[] {
  const fields: ProtoField[] = []
  let notes: string[] = []
  for (const line of body.split('\n').map((text) => text.trim())) {
    const note = /^\/\/ \+(.*)$/.exec(line)
    const field = /^(?:(optional|repeated) )?(map<string, ([\w.]+)>|[\w.]+) \w+ = (\d+);$/.exec(line)
    if (note !== null) notes.push(note[1] ?? '')
    if (field === null) continue
    const [, label, plainType = '', valueType, number] = field
    const type = resolveType(source, valueType ?? plainType)
    fields.push({
      number: Number(number),
      type,
      isRepeated: label === 'repeated',
      isMap: valueType !== undefined,
      notes,
    })
    notes = []
  }
  return fields
}

function resolveType(source: Source, type: string): string {
  if (/^[a-z]\w*$/.test(type)) return type
  return shortName(type.startsWith('.') ? type.slice(1) : `${source.package}.${type}`)
}

interface GoField {
  /** Empty for a field whose own fields stand in its place. */
  readonly jsonName: string
  readonly omitsEmpty: boolean
  readonly isPointer: boolean
  readonly patchStrategy: string | undefined
  readonly patchMergeKey: string | undefined
}

/** The JSON names, by message and field number: `core.v1.Volume/2`. */
function parseGo(source: Source, text: string): Map<string, GoField> {
  const fields = new Map<string, GoField>()
  for (const [, struct = '', body = ''] of text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    for (const [, declaration = '', tags = ''] of body.matchAll(/^\t([^/`\n]*)`([^`\n]*)`/gm)) {
      const tag = (key: string) => new RegExp(`\\b${key}:"([^"]*)"`).exec(tags)?.[1]
      const number = tag('protobuf')?.split(',')[1]
      const [jsonName = '', ...flags] = (tag('json') ?? '').split(',')
      if (number === undefined) continue
      const omitsEmpty = flags.includes('omitempty')
      const isPointer = declaration.includes(' *')
      const patch = { patchStrategy: tag('patchStrategy'), patchMergeKey: tag('patchMergeKey') }
      fields.set(`${shortName(`${source.package}.${struct}`)}/${number}`, { jsonName, omitsEmpty, isPointer, ...patch })
    }
  }
  return fields
}

function toField(message: string, proto: ProtoField, go: GoField | undefined): MessageField {
  if (go === undefined) throw new Error(`${message}: field ${proto.number} has no Go field`)
  const valuesOf = (key: string) =>
    proto.notes.filter((note) => note.startsWith(`${key}=`)).map((note) => note.slice(key.length + 1))
  const isRequired =
    !go.omitsEmpty && go.jsonName !== '' && !proto.notes.some((note) => /^(k8s:)?optional\b/.test(note))
  const isPlainScalar = !proto.type.includes('.') && !proto.isRepeated && !proto.isMap
  const entries = {
    name: go.jsonName,
    number: proto.number,
    type: forms[proto.type] ?? proto.type,
    repeated: proto.isRepeated || undefined,
    map: proto.isMap || undefined,
    inline: go.jsonName === '' || undefined,
    required: isRequired || undefined,
    keepsZero: (isPlainScalar && !isRequired && (go.isPointer || !go.omitsEmpty)) || undefined,
    listType: valuesOf('listType')[0],
    listMapKeys: valuesOf('listMapKey').length > 0 ? valuesOf('listMapKey') : undefined,
    mapType: valuesOf('mapType')[0] ?? valuesOf('structType')[0],
    patchStrategy: go.patchStrategy?.split(','),
    patchMergeKey: go.patchMergeKey,
  }
  return Object.fromEntries(
    Object.entries(entries).filter(([, value]) => value !== undefined),
  ) as unknown as MessageField
}

function findModules(): Map<string, string> {
  const names = [...new Set(sources.map(({ module }) => module))]
  return new Map(
    names.map((name) => {
      const answer = execFileSync('go', ['mod', 'download', '-json', `${name}@${version}`], { encoding: 'utf8' })
      return [name, (JSON.parse(answer) as { Dir: string }).Dir]
    }),
  )
}

function readPackage(folder: string): { proto: string; go: string } {
  const files = readdirSync(folder).filter((name) => name.endsWith('.go') && !/generated|_test\.go$/.test(name))
  const go = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  return { proto: readFileSync(join(folder, 'generated.proto'), 'utf8'), go }
}

function readTables(): KindTables {
  const modules = findModules()
  const proto = new Map<string, ProtoMessage>()
  const go = new Map<string, GoField>()
  for (const source of sources) {
    const texts = readPackage(join(modules.get(source.module) ?? '', source.folder))
    for (const [name, message] of parseProto(source, texts.proto)) proto.set(name, message)
    for (const [key, field] of parseGo(source, texts.go)) go.set(key, field)
  }
  const kinds = sources.flatMap((source) =>
    source.kinds.map((kind) => [`${source.groupVersion}/${kind}`, shortName(`${source.package}.${kind}`)] as const),
  )
  return {
    kinds: Object.fromEntries(kinds),
    messages: reachable(
      kinds.map(([, name]) => name),
      proto,
      go,
    ),
  }
}

function reachable(
  roots: readonly string[],
  proto: ReadonlyMap<string, ProtoMessage>,
  go: ReadonlyMap<string, GoField>,
): Readonly<Record<string, Message>> {
  const found = new Map<string, Message>()
  const waiting = [...roots]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const message = proto.get(name)
    if (message === undefined) throw new Error(`${name}: no such message`)
    if (found.has(name)) continue
    const messageName = name
    const fields = message.fields.map((field) => toField(messageName, field, go.get(`${messageName}/${field.number}`)))
    found.set(name, message.isAtomic ? { atomic: true, fields } : { fields })
    waiting.push(...fields.map(({ type }) => type).filter((type) => type.includes('.')))
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** One line a field: small, and a difference between versions can be read. */
function render({ kinds, messages }: KindTables): string {
  const blocks = Object.entries(messages).map(([name, { atomic, fields }]) => {
    const lines = fields.map((field) => JSON.stringify(field)).join(',\n')
    return `${JSON.stringify(name)}:{${atomic === true ? '"atomic":true,' : ''}"fields":[\n${lines}\n]}`
  })
  return `{"kinds":${JSON.stringify(kinds)},\n"messages":{\n${blocks.join(',\n')}\n}}\n`
}

const text = render(readTables())
writeFileSync(target, text)
console.log(`src/api/schema/kinds.json: ${Math.round(text.length / 1024)} KiB`)
