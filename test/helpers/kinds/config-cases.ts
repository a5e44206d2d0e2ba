import { configMap, secret } from './core-kinds.ts'
import { change, create, type Fields, type ObjectCase, objectCases, replace, unreadable } from './object-case.ts'
import type { KindCases } from './write-case.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const mebibyte = 1024 * 1024

const keys: readonly ObjectCase[] = [
  create('no data', { data: null }),
  create('keys of all letters', { data: { 'A-b_c.1': 'd', '.a': 'b', '-': 'c' } }),
  create('a key with a space', { data: { 'a b': 'c' } }, 'Invalid data[a b]'),
  create('a key with a slash', { data: { 'a/b': 'c' } }, 'Invalid data[a/b]'),
  create('an empty key', { data: { '': 'a' } }, 'Invalid data[]'),
  create('the folder as a key', { data: { '.': 'a' } }, 'Invalid data[.]'),
  create('the folder above as a key', { data: { '..': 'a' } }, 'Invalid data[..]'),
  create('a key that begins with two dots', { data: { '..a': 'b' } }, 'Invalid data[..a]'),
  create('a key of 253 letters', { data: { ['a'.repeat(253)]: 'b' } }),
  create('a key of 254 letters', { data: { ['a'.repeat(254)]: 'b' } }, `Invalid data[${'a'.repeat(254)}]`),
  create('a key with a space for bytes', { binaryData: { 'a b': '' } }, 'Invalid binaryData[a b]'),
  create('a key in both maps', { binaryData: { key: '' } }, 'Invalid data[key]'),
  create('an empty value', { data: { key: '' } }),
  unreadable(create('a value that is a number', { data: { key: 1 } })),
  unreadable(create('a value that is an object', { data: { key: {} } })),
  unreadable(create('data that is a list', { data: [] })),
  unreadable(create('bytes that are no base64', { binaryData: { a: '?' } })),
  unreadable(create('bytes without their padding', { binaryData: { a: 'YQ' } })),
  create('bytes with a line break', { binaryData: { a: 'YW\nE=' } }),
  create('a MiB of text', { data: { key: null, a: 'b'.repeat(mebibyte) } }),
  create('more than a MiB of text', { data: { a: 'b'.repeat(mebibyte), b: 'c' } }, 'TooLong []'),
  create(
    'more than a MiB of text and bytes',
    { data: { a: 'b'.repeat(mebibyte) }, binaryData: { b: 'YQ==' } },
    'TooLong []',
  ),
  unreadable(create('an immutable that is a text', { immutable: 'true' })),
]

const frozen = { immutable: true, binaryData: { bytes: 'YQ==' } }

const configUpdates: readonly ObjectCase[] = [
  change('changes its data', {}, { data: { key: 'other' } }),
  change('gets a bad key', {}, { data: { 'a b': 'c' } }, 'Invalid data[a b]'),
  change('becomes immutable', {}, { immutable: true }),
  change('becomes immutable and changes', {}, { immutable: true, data: { key: 'other' } }),
  change('that is immutable is labelled', frozen, { metadata: { labels: { a: 'b' } } }),
  change('that is immutable changes its data', frozen, { data: { key: 'other' } }, 'Forbidden data'),
  change('that is immutable gets more data', frozen, { data: { more: 'a' } }, 'Forbidden data'),
  change('that is immutable changes its bytes', frozen, { binaryData: { bytes: 'Yg==' } }, 'Forbidden binaryData'),
  change('that is immutable writes its bytes in another way', frozen, { binaryData: { bytes: 'YQ==\n' } }),
  change('that is immutable stays it no more', frozen, { immutable: false }, 'Forbidden immutable'),
  change('that is immutable does not say it any more', frozen, { immutable: null }, 'Forbidden immutable'),
  change(
    'that is immutable changes everything',
    frozen,
    { immutable: false, data: null, binaryData: null },
    'Forbidden immutable',
    'Forbidden data',
    'Forbidden binaryData',
  ),
  replace('that is immutable is replaced by itself', frozen, {}),
]

const typed = (title: string, type: string, data: Fields, ...errors: string[]) =>
  create(title, { type, data: { key: null, ...data } }, ...errors)
const json = '.dockerconfigjson'
const noJson = { words: 'Kubernetes repeats what its JSON parser says' }
const account = 'kubernetes.io/service-account.name'

const types: readonly ObjectCase[] = [
  create('no data', { data: null }),
  create('of a type of its own', { type: 'example.com/mine' }),
  create('of a type with a space', { type: 'my type' }),
  create('of an empty type', { type: '' }),
  typed('for a registry', 'kubernetes.io/dockerconfigjson', { [json]: base64('{"auths":{}}') }),
  typed('for a registry without its file', 'kubernetes.io/dockerconfigjson', {}, `Required data[${json}]`),
  {
    ...typed(
      'for a registry with text',
      'kubernetes.io/dockerconfigjson',
      { [json]: base64('auths') },
      `Invalid data[${json}]`,
    ),
    ...noJson,
  },
  {
    ...typed(
      'for a registry with a list',
      'kubernetes.io/dockerconfigjson',
      { [json]: base64('[]') },
      `Invalid data[${json}]`,
    ),
    ...noJson,
  },
  {
    ...typed('for a registry with nothing', 'kubernetes.io/dockerconfigjson', { [json]: '' }, `Invalid data[${json}]`),
    ...noJson,
  },
  typed('for a registry with null', 'kubernetes.io/dockerconfigjson', { [json]: base64('null') }),
  typed('for an old registry', 'kubernetes.io/dockercfg', { '.dockercfg': base64('{}') }),
  typed('for an old registry without its file', 'kubernetes.io/dockercfg', {}, 'Required data[.dockercfg]'),
  {
    ...typed(
      'for an old registry with text',
      'kubernetes.io/dockercfg',
      { '.dockercfg': base64('a') },
      'Invalid data[.dockercfg]',
    ),
    ...noJson,
  },
  typed('for a user', 'kubernetes.io/basic-auth', { username: base64('me') }),
  typed('for a password', 'kubernetes.io/basic-auth', { password: '' }),
  typed('without a user', 'kubernetes.io/basic-auth', {}, 'Required data[username]', 'Required data[password]'),
  typed('for SSH', 'kubernetes.io/ssh-auth', { 'ssh-privatekey': base64('a') }),
  typed(
    'for SSH with an empty key',
    'kubernetes.io/ssh-auth',
    { 'ssh-privatekey': '' },
    'Required data[ssh-privatekey]',
  ),
  typed('for SSH without a key', 'kubernetes.io/ssh-auth', {}, 'Required data[ssh-privatekey]'),
  typed('for TLS', 'kubernetes.io/tls', { 'tls.crt': '', 'tls.key': '' }),
  typed('for TLS without a key', 'kubernetes.io/tls', { 'tls.crt': '' }, 'Required data[tls.key]'),
  typed('for TLS with nothing', 'kubernetes.io/tls', {}, 'Required data[tls.crt]', 'Required data[tls.key]'),
  create('for TLS as text', { type: 'kubernetes.io/tls', data: null, stringData: { 'tls.crt': 'a', 'tls.key': 'b' } }),
  typed('for a ServiceAccount', 'kubernetes.io/service-account-token', {}, `Required metadata.annotations[${account}]`),
  create('for a named ServiceAccount', {
    metadata: { annotations: { [account]: 'default' } },
    type: 'kubernetes.io/service-account-token',
  }),
  typed('for a new node', 'bootstrap.kubernetes.io/token', {}),
]

const contents: readonly ObjectCase[] = [
  create('a key with a space', { data: { 'a b': '' } }, 'Invalid data[a b]'),
  create('a text under a key with a space', { stringData: { 'a b': 'c' } }, 'Invalid data[a b]'),
  create('a key that begins with two dots', { data: { '..a': '' } }, 'Invalid data[..a]'),
  unreadable(create('data that is no base64', { data: { a: '?' } })),
  unreadable(create('data without its padding', { data: { a: 'YQ' } })),
  unreadable(create('data that is a number', { data: { a: 1 } })),
  create('data with a line break', { data: { a: 'YW\r\nE=' } }),
  create('more than a MiB', { stringData: { a: 'b'.repeat(mebibyte) } }, 'TooLong data'),
  create('a text in place of data', { data: { key: 'YQ==' }, stringData: { key: 'b' } }),
]

const sealed = { immutable: true }

const secretUpdates: readonly ObjectCase[] = [
  change('changes its data', {}, { data: { key: 'YQ==' } }),
  change('changes its text', {}, { stringData: { key: 'a' } }),
  change('changes its type', {}, { type: 'example.com/mine' }, 'Invalid type'),
  change('loses its type', { type: 'example.com/mine' }, { type: null }, 'Invalid type'),
  change('of the plain type loses it', {}, { type: null }),
  change('that is immutable is labelled', sealed, { metadata: { labels: { a: 'b' } } }),
  change('that is immutable changes its data', sealed, { data: { key: 'YQ==' } }, 'Forbidden data'),
  change('that is immutable changes its text', sealed, { stringData: { key: 'a' } }, 'Forbidden data'),
  change('that is immutable gets the same text', sealed, { stringData: { key: 'value' } }),
  change('that is immutable writes its data in another way', sealed, { data: { key: 'dmFsdWU=\n' } }),
  change('that is immutable stays it no more', sealed, { immutable: false }, 'Forbidden immutable'),
  change('that is immutable changes its type', sealed, { type: 'a' }, 'Invalid type'),
  change(
    'for TLS loses its key',
    { type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' } },
    { data: { 'tls.key': null } },
    'Required data[tls.key]',
  ),
]

export const configMapCases: KindCases = objectCases('ConfigMaps', configMap, [...keys, ...configUpdates])

export const secretCases: KindCases = objectCases('Secrets', secret, [...types, ...contents, ...secretUpdates])
