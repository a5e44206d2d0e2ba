import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createDialect } from '../../../../../src/model/dialect.ts'
import { parsePod } from '../../../../../src/node/pods/pod-spec.ts'
import { type Fetched, planFiles } from '../../../../../src/node/pods/volumes/plan-files.ts'
import { renewalMs } from '../../../../../src/node/pods/volumes/plan-renewal.ts'

const apiAccess = {
  sources: [
    { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
  ],
}
const fetched: Fetched = {
  objects: new Map([
    ['configmaps/kube-root-ca.crt', new Map([['ca.crt', Buffer.from('the CA')]])],
    [
      'configmaps/web',
      new Map([
        ['a', Buffer.from('one')],
        ['b', Buffer.from([0, 255])],
      ]),
    ],
    ['secrets/tls', new Map([['key', Buffer.from('private')]])],
  ]),
  tokens: new Map([
    ['3607 ', 'the token'],
    ['600 vault', 'another token'],
  ]),
}

function plan(volume: object, spec: object = {}, metadata: object = {}) {
  const parsed = parsePod(
    {
      metadata: { name: 'web-1', namespace: 'shop', uid: 'u-1', ...metadata },
      spec: { containers: [{ name: 'c' }], volumes: [{ name: 'v', ...volume }], ...spec },
    },
    createDialect('kubernetes'),
  )
  assert.equal(parsed.kind, 'pod', JSON.stringify(parsed))
  const found = parsed.kind === 'pod' ? parsed.pod.spec.volumes[0] : undefined
  assert.ok(parsed.kind === 'pod' && found?.kind === 'files')
  const files = planFiles(parsed.pod, found, fetched)
  return Object.fromEntries(
    Array.from(files, ([path, { data, mode, uid }]) => [path, [data.toString('latin1'), mode.toString(8), uid]]),
  )
}

describe('the files of a volume', () => {
  test('what a Pod gets by itself: token, CA and namespace, readable by everybody', () => {
    assert.deepEqual(plan({ projected: apiAccess }), {
      token: ['the token', '644', 0],
      'ca.crt': ['the CA', '644', 0],
      namespace: ['shop', '644', 0],
    })
  })

  const owners: readonly (readonly [string, object, unknown, string])[] = [
    ['one user', { securityContext: { runAsUser: 1000 } }, ['the token', '600', 1000], '644'],
    ['a group', { securityContext: { fsGroup: 7 } }, ['the token', '640', 0], '644'],
    ['both', { securityContext: { runAsUser: 1000, fsGroup: 7 } }, ['the token', '640', 1000], '644'],
    [
      'one user by each container',
      {
        containers: [
          { name: 'a', securityContext: { runAsUser: 9 } },
          { name: 'b', securityContext: { runAsUser: 9 } },
        ],
      },
      ['the token', '600', 9],
      '644',
    ],
    [
      'users that differ',
      {
        securityContext: { runAsUser: 1 },
        containers: [{ name: 'a' }, { name: 'b', securityContext: { runAsUser: 9 } }],
      },
      ['the token', '644', 0],
      '644',
    ],
    [
      'a user of one container alone',
      { containers: [{ name: 'a', securityContext: { runAsUser: 9 } }, { name: 'b' }] },
      ['the token', '644', 0],
      '644',
    ],
  ]
  for (const [what, spec, token, mode] of owners)
    test(`a token is its user's alone where there is one: ${what}`, () => {
      const files = plan({ projected: apiAccess }, spec)
      assert.deepEqual([files['token'], files['ca.crt']?.[1]], [token, mode])
    })

  test('each key, or those that are named, with the modes that are asked for', () => {
    assert.deepEqual(plan({ configMap: { name: 'web', defaultMode: 0o400 } }), {
      a: ['one', '400', 0],
      b: ['\0\xff', '400', 0],
    })
    const items = [{ key: 'a', path: 'deep/er/./one', mode: 0o600 }]
    assert.deepEqual(plan({ configMap: { name: 'web', items } }), { 'deep/er/one': ['one', '600', 0] })
    const group = { securityContext: { fsGroup: 7 } }
    assert.deepEqual(plan({ secret: { secretName: 'tls', defaultMode: 0o400 } }, group), {
      key: ['private', '440', 0],
    })
  })

  test('tokens of another audience and time', () => {
    const source = { serviceAccountToken: { path: 't', audience: 'vault', expirationSeconds: 600 } }
    assert.deepEqual(plan({ projected: { sources: [source] } }), { t: ['another token', '644', 0] })
  })

  test('fields of the pod, labels and annotations as Kubernetes writes them', () => {
    const field = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } })
    const items = [
      field('name', 'metadata.name'),
      field('uid', 'metadata.uid'),
      field('labels', 'metadata.labels'),
      field('annotations', 'metadata.annotations'),
      field('app', "metadata.labels['app']"),
      field('none', "metadata.labels['none']"),
    ]
    const labels = { 'app-x': 'b', app: 'a' }
    const annotations = { note: 'a "quote"\n\x07\x7f\\u0007 é' }
    const files = plan({ downwardAPI: { items } }, {}, { labels, annotations })
    const texts = Object.fromEntries(Object.entries(files).map(([path, [data]]) => [path, data]))
    assert.deepEqual(texts, {
      name: 'web-1',
      uid: 'u-1',
      labels: 'app="a"\napp-x="b"',
      annotations: `note="a \\"quote\\"\\n\\a\\x7f\\\\u0007 ${Buffer.from('é').toString('latin1')}"`,
      app: 'a',
      none: '',
    })
  })

  test('what is optional may be missing', () => {
    assert.deepEqual(plan({ configMap: { name: 'gone', optional: true } }), {})
    const items = [{ key: 'gone', path: 'x' }]
    assert.deepEqual(plan({ secret: { secretName: 'tls', items, optional: true } }), {})
  })

  const item = (path: string) => ({ configMap: { name: 'web', items: [{ key: 'a', path }] } })
  const failures: readonly (readonly [string, object, RegExp])[] = [
    ['a ConfigMap that is missing', { configMap: { name: 'gone' } }, /for volume "v" : configmap "gone" not found$/],
    ['a Secret that is missing', { secret: { secretName: 'gone' } }, /: secret "gone" not found$/],
    [
      'a key that is missing',
      { configMap: { name: 'web', items: [{ key: 'gone', path: 'x' }] } },
      /: configmap references non-existent config key: gone$/,
    ],
    [
      'a key of a Secret that is missing',
      { secret: { secretName: 'tls', items: [{ key: 'gone', path: 'x' }] } },
      /: references non-existent secret key: gone$/,
    ],
    ['a field that is none', { downwardAPI: { items: [{ path: 'x', fieldRef: { fieldPath: 'spec.x' } }] } }, /spec\.x/],
    ['a path that climbs', item('a/../../x'), /invalid path/],
    ['an absolute path', item('/etc/passwd'), /invalid path/],
    ['a path without a name', item('./'), /invalid path/],
    ['a name that the update of volumes uses', item('..data'), /invalid path/],
    ['a long name', item('x'.repeat(256)), /invalid path/],
    [
      'a file that is also a folder',
      {
        configMap: {
          name: 'web',
          items: [
            { key: 'a', path: 'x/y' },
            { key: 'b', path: 'x' },
          ],
        },
      },
      /x is a file and a folder/,
    ],
  ]
  for (const [what, volume, message] of failures)
    test(`cannot be made: ${what}`, () => assert.throws(() => plan(volume), { code: 'volume-failed', message }))
})

describe('when a token is renewed', () => {
  for (const [seconds, chance, wantedSeconds] of [
    [3607, 0, 2885.6],
    [3600, 0.5, 2875],
    [600, 0, 480],
    [7 * 86_400, 0, 86_400],
    [7 * 86_400, 0.5, 86_395],
    [5, 0.9, 10],
  ] as const)
    test(`one of ${seconds} s after ${wantedSeconds} s`, () => {
      assert.equal(renewalMs(seconds, chance), wantedSeconds * 1000)
    })
})
