import * as kinds from './core-kinds.ts'
import {
  change,
  create,
  type Fields,
  type Kind,
  type ObjectCase,
  objectCases,
  replace,
  unreadable,
} from './object-case.ts'
import type { KindCases } from './write-case.ts'

const shown = (text: string) => JSON.stringify(text.length > 60 ? `${text.slice(0, 8)}… (${text.length})` : text)
const named = (name: string, ...errors: string[]) => create(`named ${shown(name)}`, { metadata: { name } }, ...errors)
const generated = (generateName: string, ...errors: string[]) =>
  create(`generated from ${shown(generateName)}`, { metadata: { name: null, generateName } }, ...errors)
const badName = 'Invalid metadata.name'
const badBase = 'Invalid metadata.generateName'

/** What most kinds take for a name. */
const subdomains: readonly ObjectCase[] = [
  named('a.b-c.1'),
  named('Web', badName),
  named('a_b', badName),
  named('.a', badName),
  named('a'.repeat(253)),
  named('a'.repeat(254), badName),
  generated('web-'),
  generated('Web-', badBase, badName),
]

const serviceNames: readonly ObjectCase[] = [
  named('a-1'),
  named('a.b', badName),
  named('1a', badName),
  named('a'.repeat(63)),
  named('a'.repeat(64), badName),
  generated('1a-', badBase, badName),
  generated('a'.repeat(64), badBase),
]

const namespaceNames: readonly ObjectCase[] = [
  named('1a'),
  named('a.b', badName),
  // Its name is the value of a label, too.
  named('a'.repeat(64), badName, 'Invalid metadata.labels'),
  generated('a.b-', badBase, badName),
]

const eventNames: readonly ObjectCase[] = [
  named('A_b:c'),
  named('..', badName),
  named('a/b', badName),
  named('a%b', badName),
]

const configMapNames: readonly ObjectCase[] = [
  create('without a name', { metadata: { name: null } }, 'Required metadata.name'),
  generated('-', badBase, badName),
  generated('a'.repeat(300), badBase),
  create('with a name and a base of one letter and a hyphen', { metadata: { generateName: 'A-' } }),
]

const label = (labels: object, ...errors: string[]) =>
  create(`labelled ${shown(JSON.stringify(labels))}`, { metadata: { labels } }, ...errors)
const annotation = (title: string, annotations: object, ...errors: string[]) =>
  create(title, { metadata: { annotations } }, ...errors)
const badLabel = 'Invalid metadata.labels'
const badAnnotation = 'Invalid metadata.annotations'

const texts: readonly ObjectCase[] = [
  label({ app: '' }),
  label({ 'example.com/app': 'A_b.c-1' }),
  label({ 'a b': 'c' }, badLabel),
  label({ '': 'c' }, badLabel),
  label({ '/a': 'c' }, badLabel),
  label({ 'a/': 'c' }, badLabel),
  label({ 'a/b/c': 'd' }, badLabel),
  label({ 'Example.com/a': 'b' }, badLabel),
  label({ a: '-b' }, badLabel),
  label({ a: 'b c' }, badLabel),
  label({ a: 'b'.repeat(63) }),
  label({ a: 'b'.repeat(64) }, badLabel),
  label({ ['a'.repeat(64)]: 'b' }, badLabel),
  label({ [`${'a'.repeat(254)}/b`]: 'c' }, badLabel),
  unreadable(label({ a: 1 })),
  unreadable(create('with labels that are a list', { metadata: { labels: ['a'] } })),
  annotation('annotated with anything', { 'Example.com/A': 'any text {}', b: '' }),
  annotation('annotated under a key with a space', { 'a b': 'c' }, badAnnotation),
  annotation('annotated with 256 KiB', { a: 'b'.repeat(256 * 1024 - 1) }),
  annotation('annotated with more than 256 KiB', { a: 'b'.repeat(256 * 1024) }, 'TooLong metadata.annotations'),
  annotation(
    'annotated with more than 256 KiB of bytes',
    { a: 'ü'.repeat(128 * 1024) },
    'TooLong metadata.annotations',
  ),
]

const owner = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'a1' }
const owners = (title: string, list: readonly object[], ...errors: string[]) =>
  create(title, { metadata: { ownerReferences: list } }, ...errors)
const at = 'metadata.ownerReferences'

const references: readonly ObjectCase[] = [
  owners('with an owner', [owner]),
  owners('with two owners, one a controller', [
    { ...owner, controller: true },
    { ...owner, uid: 'a2' },
  ]),
  owners(
    'with two controllers',
    [
      { ...owner, controller: true },
      { ...owner, uid: 'a2', controller: true },
    ],
    `Invalid ${at}`,
  ),
  owners('with an owner without apiVersion', [{ ...owner, apiVersion: '' }], `Invalid ${at}.apiVersion`),
  owners('with an owner of a group without version', [{ ...owner, apiVersion: 'apps/' }], `Invalid ${at}.apiVersion`),
  owners('with an owner of three parts of a version', [{ ...owner, apiVersion: 'a/b/c' }], `Invalid ${at}.apiVersion`),
  owners('with an owner without kind', [{ ...owner, kind: '' }], `Invalid ${at}.kind`),
  owners('with an owner without name', [{ ...owner, name: '' }], `Invalid ${at}.name`),
  owners('with an owner without UID', [{ ...owner, uid: '' }], `Invalid ${at}.uid`),
  owners(
    'with an owner that is nothing',
    [{}],
    ...['apiVersion', 'kind', 'name', 'uid'].map((field) => `Invalid ${at}.${field}`),
  ),
  owners('owned by an Event', [{ ...owner, kind: 'Event' }], `Invalid ${at}`),
]

const finalizers = (list: readonly string[], ...errors: string[]) =>
  create(`with finalizers ${JSON.stringify(list)}`, { metadata: { finalizers: list } }, ...errors)

const mine = ['mine']
const foreign = finalizers(mine, 'Invalid metadata.finalizers[0]')
const becomesForeign = change(
  'gets a finalizer without domain',
  {},
  { metadata: { finalizers: mine } },
  'Invalid metadata.finalizers[0]',
)

const ends: readonly ObjectCase[] = [
  finalizers(['example.com/a', 'orphan', 'kubernetes']),
  finalizers(['foregroundDeletion']),
  finalizers(['orphan', 'foregroundDeletion'], 'Invalid metadata.finalizers'),
  finalizers(['a b'], 'Invalid metadata.finalizers', 'Invalid metadata.finalizers[0]'),
  finalizers(['example.com/a', 'mine'], 'Invalid metadata.finalizers[1]'),
  finalizers(['example.com/'], 'Invalid metadata.finalizers'),
]

const systemFields: readonly ObjectCase[] = [
  {
    ...create('with a generation below 0', { metadata: { generation: -1 } }),
    differs: 'the server counts generations, whatever a create says',
  },
  create('with what the server sets', {
    metadata: {
      uid: 'mine',
      resourceVersion: '',
      generation: 7,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 5,
      selfLink: '/a',
    },
  }),
  unreadable(create('in another namespace', { metadata: { namespace: 'other' } })),
  unreadable(create('made at a time that is none', { metadata: { creationTimestamp: 'now' } })),
  create('with managed fields of no operation', {
    metadata: { managedFields: [{ manager: 'me', operation: 'Make' }] },
  }),
]

const metadata = (title: string, fields: Fields, ...errors: string[]) =>
  change(title, {}, { metadata: fields }, ...errors)
const conflict = { code: 409, reason: 'Conflict' }

const updates: readonly ObjectCase[] = [
  metadata('labels it', { labels: { a: 'b' } }),
  metadata('labels it badly', { labels: { 'a b': 'c' } }, badLabel),
  metadata('annotates it badly', { annotations: { 'a b': 'c' } }, badAnnotation),
  metadata('gives it an owner without UID', { ownerReferences: [{ ...owner, uid: '' }] }, `Invalid ${at}.uid`),
  unreadable(metadata('names it anew', { name: 'other' })),
  unreadable(metadata('moves it', { namespace: 'other' })),
  metadata('gives it another UID', { uid: 'other' }, 'Invalid metadata.uid'),
  { ...metadata('names another resourceVersion', { resourceVersion: '1' }), ...conflict },
  metadata('sets its base of a name', { generateName: 'web-' }),
  metadata('sets a bad base of a name', { generateName: 'A_' }, badBase),
  metadata('sets its generation', { generation: 7 }),
  metadata('sets its time of creation', { creationTimestamp: '2026-01-01T00:00:00Z' }),
  metadata('takes its time of creation', { creationTimestamp: null }),
  metadata(
    'sets its time of deletion',
    { deletionTimestamp: '2026-01-01T00:00:00Z' },
    'Invalid metadata.deletionTimestamp',
  ),
  metadata('sets its grace', { deletionGracePeriodSeconds: 5 }, 'Invalid metadata.deletionGracePeriodSeconds'),
  replace('replaces it by one of another time', {}, { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } }),
  { ...replace('replaces it by one of another UID', {}, { metadata: { uid: 'other' } }), ...conflict },
  { ...replace('replaces it by one of another revision', {}, { metadata: { resourceVersion: '1' } }), ...conflict },
  unreadable(replace('replaces it by one in another namespace', {}, { metadata: { namespace: 'other' } })),
]

const withDomains = [foreign, becomesForeign]
const withoutDomains = [finalizers(mine), metadata('gets a finalizer without domain', { finalizers: mine })]
const ofAnyNamespace = create('with a namespace, which it has none of', { metadata: { namespace: 'other' } })

const tables: readonly (readonly [string, Kind, readonly ObjectCase[]])[] = [
  ['ConfigMaps', kinds.configMap, [...subdomains, ...configMapNames, ...texts, ...references, ...ends]],
  ['changed ConfigMaps', kinds.configMap, [...withDomains, ...systemFields, ...updates]],
  ['Secrets', kinds.secret, [...subdomains, ...withDomains]],
  ['ServiceAccounts', kinds.serviceAccount, [...subdomains, ...withDomains]],
  ['Services', kinds.service, [...serviceNames, ...withDomains]],
  ['Endpoints', kinds.endpoints, [...subdomains, ...withDomains]],
  ['EndpointSlices', kinds.endpointSlice, [...subdomains, ...withDomains]],
  ['Namespaces', kinds.namespace, [...namespaceNames, ...withDomains]],
  ['Nodes', kinds.node, [...subdomains, ...withDomains, ofAnyNamespace]],
  ['Leases', kinds.lease, [...subdomains, ...withoutDomains]],
  ['Events', kinds.event, [...eventNames, ...withoutDomains]],
  ['Events of events.k8s.io', kinds.groupEvent, [...subdomains, ...withDomains]],
]

/** What the metadata of each kind may be. */
export const metadataCases: readonly KindCases[] = tables.map(([title, kind, cases]) =>
  objectCases(`Metadata of ${title}`, kind, cases),
)
