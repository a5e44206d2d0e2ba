import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseConflicts } from '../../../src/app/option-conflicts.ts'
import { optionGroups } from '../../../src/app/option-groups.ts'
import { type CommandName, ConfigError, loadOptions } from '../../../src/config/index.ts'

function problemsOf(flags: Record<string, string>, command?: CommandName): readonly string[] {
  try {
    refuseConflicts(loadOptions(optionGroups, { flags, ...(command && { command }) }), command)
    return []
  } catch (error) {
    return error instanceof ConfigError ? error.problems : [String(error)]
  }
}

const overlap =
  /^--service-cluster-ip-range 10\.96\.0\.0\/12 and --cluster-cidr 10\.(96|0)\.0\.0\/\d+ overlap: expected two networks$/

test('Networks of Services and pods that overlap are refused where a server runs.', () => {
  for (const command of ['run', 'server'] as const) {
    assert.match(problemsOf({ clusterCidr: '10.96.0.0/16' }, command).join(), overlap)
    assert.match(problemsOf({ clusterCidr: '10.0.0.0/8' }, command).join(), overlap)
    assert.deepEqual(problemsOf({ clusterCidr: '10.112.0.0/16,fd00::/64' }, command), [])
  }
})

test('An agent alone and a file that names one of both networks are not judged by a default.', () => {
  assert.deepEqual(problemsOf({ clusterCidr: '10.96.0.0/16' }, 'agent'), [])
  assert.deepEqual(problemsOf({ clusterCidr: '10.96.0.0/16' }), [])
  assert.match(problemsOf({ clusterCidr: '10.96.0.0/16', serviceClusterIpRange: '10.96.0.0/12' }).join(), overlap)
})

test('A mode that needs another option is refused without it, before an agent starts.', () => {
  assert.deepEqual(problemsOf({ detectLocalMode: 'BridgeInterface' }, 'run'), [
    '--detect-local-mode BridgeInterface needs --pod-bridge-interface',
  ])
  assert.deepEqual(problemsOf({ detectLocalMode: 'BridgeInterface', podBridgeInterface: 'cni0' }, 'run'), [])
})

test('Two parts of run on one port are refused, before the agent is started again and again.', () => {
  assert.deepEqual(problemsOf({ port: '6443' }, 'run'), [
    '--secure-port and --port both name tcp port 6443: expected two ports',
  ])
  assert.deepEqual(problemsOf({ consolePort: '8080', bindAddress: '192.0.2.1' }, 'run'), [
    '--controller-manager-port and --console-port both name tcp port 8080: expected two ports',
  ])
  assert.deepEqual(problemsOf({ securePort: '8080', bindAddress: '192.0.2.1' }, 'run'), [])
  assert.deepEqual(problemsOf({ consolePort: '8080', console: 'false' }, 'run'), [])
  assert.deepEqual(problemsOf({ proxyHealthzPort: '0', port: '10256' }, 'run'), [])
})

test('A password for etcd needs its user, and is sent to another machine over https alone.', () => {
  const user = { store: 'etcd', etcdUsername: 'platnet', etcdPasswordFile: '/etc/platnet/password' }
  assert.deepEqual(problemsOf({ store: 'etcd', etcdServers: 'https://192.0.2.1:2379', etcdUsername: 'platnet' }), [
    '--etcd-username and --etcd-password-file need each other',
  ])
  assert.deepEqual(
    problemsOf({ ...user, etcdServers: 'http://127.0.0.1:2379,https://etcd:2379,http://192.0.2.1:2379' }),
    ['--etcd-password-file is not sent to http://192.0.2.1:2379: expected https'],
  )
  assert.deepEqual(problemsOf({ ...user, etcdServers: 'http://localhost:2379,http://[::1]:2379' }), [])
  assert.equal(problemsOf({ ...user, etcdServers: 'http://localhost.example.org:2379' }).length, 1)
})
