import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCli } from '../../../src/cli/run-cli.ts'
import { createDialect } from '../../../src/model/dialect.ts'
import { AdminConnection } from '../../helpers/admin-connection.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { PlatnetServer } from '../../helpers/platnet-server.ts'

async function platnet(...args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const streams = {
    stdout: { write: (text: string) => out.push(text) },
    stderr: { write: (text: string) => err.push(text) },
  }
  const code = await runCli(['node', 'platnet', 'policy', ...args], { env: {}, ...streams })
  return { code, out: out.join(''), err: err.join('') }
}

const web = { podSelector: { matchLabels: { app: 'web' } } }
const db = { podSelector: { matchLabels: { app: 'db' } } }

for (const dialect of [createDialect('platform'), createDialect('kubernetes')]) {
  const apiVersion = `${dialect.groups.networking}/v1`
  const policyOf = (name: string, spec: object) => ({ apiVersion, kind: 'NetworkPolicy', metadata: { name }, spec })

  describe(`platnet policy against a server of the dialect ${dialect.name}`, () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'plt-test-'))
    let server: PlatnetServer
    let admin: AdminConnection

    async function create(path: string, object: object): Promise<void> {
      const { code, body } = await admin.call('POST', path, object)
      assert.equal(code, 201, body.message)
    }

    async function createPod(namespace: string, name: string, labels: object, podIP: string): Promise<void> {
      const path = `/api/v1/namespaces/${namespace}/pods`
      const ports = [{ name: 'http', containerPort: 8080 }]
      const spec = { containers: [{ name: 'c', image: 'i', ports }] }
      await create(path, { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec })
      const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }] }
      const { code } = await admin.call('PATCH', `${path}/${name}/status`, { status })
      assert.equal(code, 200)
    }

    before(async () => {
      const flags = ['--components=api', `--dialect=${dialect.name}`]
      server = new PlatnetServer(dataDir, await findFreePort(), {}, flags)
      admin = new AdminConnection(await server.start(), 4)
      for (const name of ['x', 'y']) {
        await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
        await create(`/api/v1/namespaces/${name}/serviceaccounts`, {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: 'default' },
        })
      }
      await createPod('x', 'web-1', { app: 'web' }, '10.244.0.1')
      await createPod('x', 'web-2', { app: 'web' }, '10.244.0.2')
      await createPod('x', 'db', { app: 'db' }, '10.244.0.3')
      await createPod('y', 'other', {}, '10.244.1.1')
      await create(
        `/apis/${dialect.groups.networking}/v1/namespaces/x/networkpolicies`,
        policyOf('db', { ...db, ingress: [{ from: [web], ports: [{ port: 'http' }] }] }),
      )
    })
    after(async () => {
      admin?.close()
      await server.stop('SIGKILL')
      rmSync(dataDir, { recursive: true, force: true })
    })

    const access = () => ['--kubeconfig', join(dataDir, 'admin.kubeconfig')]

    function manifestOf(text: string): string {
      const file = join(dataDir, 'manifest.yaml')
      writeFileSync(file, text)
      return file
    }

    test('matrix prints who reaches whom on which port', async () => {
      const { code, out, err } = await platnet('matrix', '-n', 'x', ...access())
      assert.deepEqual([code, err], [0, ''])
      assert.equal(
        out,
        [
          'Namespace x: 3 pods, 2 groups of pods that no policy tells apart.',
          '',
          'x/db',
          '  from (isolated by x/db)',
          '    TCP 8080: x/web-1, x/web-2',
          '    nothing: y/other, all other addresses',
          '  to (not isolated)',
          '    everything: x/web-1, x/web-2, y/other, all other addresses',
          '',
          'x/web-1, x/web-2',
          '  from (not isolated)',
          '    everything: x/db, x/web-1, x/web-2, y/other, all other addresses',
          '  to (not isolated)',
          '    TCP 8080: x/db',
          '    everything: x/web-1, x/web-2, y/other, all other addresses',
          '',
        ].join('\n'),
      )
    })

    test('matrix is JSON on demand, with the access of the data directory by default', async () => {
      const { code, out } = await platnet('matrix', '-n', 'x', '-o', 'json', '--data-dir', dataDir)
      const { groups, rows } = JSON.parse(out)
      assert.equal(code, 0)
      assert.deepEqual(
        groups.map((group: { pods: string[] }) => group.pods),
        [['x/db'], ['x/web-1', 'x/web-2'], ['y/other']],
      )
      assert.deepEqual(rows[0].from[0], {
        reach: [{ ports: [{ protocol: 'TCP', first: 8080, last: 8080 }] }],
        groups: [1],
        addresses: [],
      })
    })

    test('matrix fails for a namespace that is not there, and suggests one', async () => {
      const { code, err } = await platnet('matrix', '-n', 'yy', ...access())
      assert.equal(code, 1)
      assert.match(err, /the cluster has no namespace "yy"\n {2}what to do: did you mean y\?/)
    })

    test('test prints what a manifest would change, and changes nothing', async () => {
      const other = 'kind: Service\napiVersion: v1\nmetadata: {name: web}'
      const list = JSON.stringify({ kind: 'List', items: [policyOf('db', { ...db, ingress: [{}] })] })
      const file = manifestOf([JSON.stringify(policyOf('deny', web)), '', other, list].join('\n---\n'))
      const { code, out, err } = await platnet('test', '-f', file, '-n', 'x', ...access())
      assert.deepEqual(
        [code, err],
        [0, `warning: Service web of ${file} is no NetworkPolicy and not part of the answer\n`],
      )
      assert.equal(
        out,
        [
          'x/db replaces the one of its name: it selects 1 pod and isolates ingress.',
          'x/deny is new: it selects 2 pods and isolates ingress.',
          'It would change (before -> after):',
          '',
          'x/db',
          '  from x/web-1, x/web-2: TCP 8080 -> everything',
          '  from y/other, all other addresses: nothing -> everything',
          '',
          'x/web-1, x/web-2',
          '  from x/db, x/web-1, x/web-2, y/other, all other addresses: everything -> nothing',
          '',
        ].join('\n'),
      )
      assert.match((await platnet('matrix', '-n', 'x', ...access())).out, /TCP 8080: x\/web-1/)
    })

    test('test says that nothing would change, and gives JSON on demand', async () => {
      const same = manifestOf(JSON.stringify(policyOf('more', { ...db, ingress: [] })))
      const { out } = await platnet('test', '-f', same, '-n', 'x', ...access())
      assert.match(out, /x\/more is new: it selects 1 pod and isolates ingress\.\nNothing would change for any pod\.\n/)
      const { rows } = JSON.parse((await platnet('test', '-f', same, '-n', 'x', '-o', 'json', ...access())).out)
      assert.deepEqual(rows, [])
    })

    test('test refuses a manifest that it would judge for what it is not', async () => {
      const cases: readonly [string, RegExp][] = [
        [
          JSON.stringify(policyOf('p', { ingress: [{ form: [web] }] })),
          /NetworkPolicy x\/p: spec\.ingress\[0\]: expected only the fields from, ports, found "form"/,
        ],
        [
          JSON.stringify({ ...policyOf('p', {}), apiVersion: 'extensions/v1beta1' }),
          /this server expects apiVersion networking\./,
        ],
        [
          [policyOf('p', {}), policyOf('p', {})].map((policy) => JSON.stringify(policy)).join('\n---\n'),
          /x\/p stands in it twice/,
        ],
        ['{', /manifest\.yaml: /],
        ['7', /expected objects with apiVersion/],
        ['', /it holds no NetworkPolicy/],
      ]
      for (const [text, expected] of cases) {
        const { code, out, err } = await platnet('test', '-f', manifestOf(text), '-n', 'x', ...access())
        assert.deepEqual([code, out], [2, ''])
        assert.match(err, expected)
      }
    })

    test('the address of the cluster DNS counts as its pod where a node answers it', async () => {
      const labels = { 'k8s-app': 'kube-dns' }
      const ports = [{ name: 'dns', protocol: 'UDP', port: 53 }]
      await create('/api/v1/namespaces/kube-system/services', {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'kube-dns' },
        spec: { selector: labels, ports },
      })
      const egress = [
        {
          to: [{ namespaceSelector: {}, podSelector: { matchLabels: labels } }],
          ports: [{ protocol: 'UDP', port: 'dns' }],
        },
      ]
      const file = manifestOf(JSON.stringify(policyOf('out', { ...db, policyTypes: ['Egress'], egress })))
      const effect = async () => (await platnet('test', '-f', file, '-n', 'x', ...access())).out
      assert.doesNotMatch(await effect(), /kube-system/)
      await create('/api/v1/namespaces/kube-system/serviceaccounts', {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default' },
      })
      await create('/api/v1/namespaces/kube-system/pods', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'mirror', labels, annotations: { [dialect.annotations.mirrorPod]: 'platnet-dns' } },
        spec: { nodeName: 'n1', hostNetwork: true, containers: [{ name: 'dns', image: 'platnet' }] },
      })
      assert.match(await effect(), /^ {2}to kube-system\/kube-dns: everything -> UDP 53$/m)
    })
  })
}
