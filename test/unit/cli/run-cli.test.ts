import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCli } from '../../../src/cli/run-cli.ts'
import { readBuildInfo, versionText } from '../../../src/observe/index.ts'

async function platnet(args: readonly string[], env: Record<string, string> = {}, columns?: number) {
  const out: string[] = []
  const err: string[] = []
  const streams = {
    stdout: { write: (text: string) => out.push(text), ...(columns !== undefined && { columns }) },
    stderr: { write: (text: string) => err.push(text) },
  }
  const code = await runCli(['node', 'platnet', ...args], { env, ...streams })
  return { code, out: out.join(''), err: err.join('') }
}

async function fileWith(context: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'platnet-cli-'))
  context.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'platnet.yaml'), text)
  return join(folder, 'platnet.yaml')
}

test('The version and help are data on stdout and end with 0.', async () => {
  const { version, commit } = readBuildInfo()
  assert.deepEqual(await platnet(['--version']), { code: 0, out: `${versionText({ version, commit })}\n`, err: '' })
  for (const args of [['--help'], ['help'], ['config', 'print', '--help']]) {
    const { code, out, err } = await platnet(args)
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, /^Usage: platnet/)
  }
})

test('version prints the version, the commit and the Node, as lines or as JSON.', async () => {
  const { version, commit } = readBuildInfo()
  const { code, out } = await platnet(['version'])
  assert.deepEqual([code, out.split('\n').slice(0, 2)], [0, [`platnet ${version}`, `commit: ${commit ?? 'unknown'}`]])
  const answer = JSON.parse((await platnet(['version', '-o', 'json'])).out)
  const platform = `${process.platform}/${process.arch}`
  assert.deepEqual(answer, { version, commit: commit ?? '', nodeVersion: process.version, platform })
})

test('A wrong command or flag ends with 2 and a suggestion on stderr.', async () => {
  const wrongCommand = await platnet(['confg'])
  assert.deepEqual([wrongCommand.code, wrongCommand.out], [2, ''])
  assert.match(wrongCommand.err, /unknown command 'confg'\n\(Did you mean config\?\)/)
  const wrongFlag = await platnet(['config', 'print', '--prot', '1'])
  assert.equal(wrongFlag.code, 2)
  assert.match(wrongFlag.err, /Did you mean --port\?/)
  assert.equal((await platnet([])).code, 2)
})

test('config print shows the effective options of file, variable and flag.', async (context) => {
  const path = await fileWith(context, 'securePort: 7443\nport: 1\nlogLevel: warn\n')
  const args = ['config', 'print', '--config', path, '--log-level', 'debug', '--public-metrics']
  const { code, out } = await platnet(args, { NODEAGENT_PORT: '2', RUST_LOG: 'error' })
  assert.equal(code, 0)
  assert.match(out, /^securePort: 7443 # file$/m)
  assert.match(out, /^port: 2 # variable NODEAGENT_PORT$/m)
  assert.match(out, /^logLevel: debug # --log-level$/m)
  assert.match(out, /^publicMetrics: true # --public-metrics$/m)
})

test('config validate says ok, or every problem at once and 2.', async (context) => {
  const good = await fileWith(context, 'clusterCidr: 10.0.0.0/8\n')
  assert.deepEqual(await platnet(['config', 'validate', good]), { code: 0, out: `${good}: ok\n`, err: '' })
  const bad = await fileWith(context, 'clusterCidr: 10.0.0.0\nclusterCdr: x\n')
  assert.deepEqual(await platnet(['config', 'validate', bad]), {
    code: 2,
    out: '',
    err:
      `error: ${bad}:2: clusterCdr: no such option; did you mean clusterCidr?\n` +
      `error: ${bad}:1: clusterCidr: expected a network such as 10.0.0.0/8, or one of each family, got "10.0.0.0"\n`,
  })
})

test('A file that cannot be read ends with 2, and its stack is shown with --debug only.', async () => {
  const plain = await platnet(['config', 'validate', '/nonexistent/platnet.yaml'])
  assert.equal(plain.code, 2)
  assert.match(plain.err, /^error: \/nonexistent\/platnet\.yaml: cannot be read: ENOENT.*\n$/)
  const debug = await platnet(['config', 'validate', '/nonexistent/platnet.yaml', '--debug'])
  assert.match(debug.err, /^ {4}at /m)
})

test('config schema is JSON.', async () => {
  const { code, out } = await platnet(['config', 'schema'])
  assert.equal(code, 0)
  assert.equal(JSON.parse(out).type, 'object')
})

test('Help fills the width of the terminal, or COLUMNS, or 80 characters.', async () => {
  const widest = async (env: Record<string, string>, columns?: number) => {
    const { out } = await platnet(['status', '--help'], env, columns)
    return Math.max(...out.split('\n').map((line) => line.length))
  }
  const [plain, wide, narrow] = [await widest({}), await widest({}, 160), await widest({ COLUMNS: '60' })]
  assert.ok(plain > 60 && plain <= 80, `${plain}`)
  assert.ok(wide > 80 && wide <= 160, `${wide}`)
  assert.ok(narrow <= 60, `${narrow}`)
})

test('Help of the command with the longest options and lists fits a line, of 80 characters and of 50.', async () => {
  for (const columns of [80, 50]) {
    for (const command of ['run', 'agent', 'check']) {
      const { out } = await platnet([command, '--help'], {}, columns)
      const isBreakable = (line: string) => line.length > columns && !/^ *(--|\S*$)/.test(line)
      assert.deepEqual(out.split('\n').filter(isBreakable), [], `${command} at ${columns}`)
    }
  }
  const { out } = await platnet(['run', '--help'], {}, 80)
  assert.match(out, /^ {2}--horizontal-pod-autoscaler-sync-period <duration>\n {36}How often each/m)
  assert.match(out, /^ {36}api,controllers,\S+,\n {36}\S+pods\)$/m)
})

test('The help of a command that asks the agent shows the options that it uses, and it takes the others.', async () => {
  const { out } = await platnet(['status', '--help'])
  assert.deepEqual(
    [...out.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag),
    ['--watch', '--interval', '--output', '--config', '--control-socket', '--help'],
  )
  const { err } = await platnet(['status', '--cluster-cidr', '10.0.0.0/8', '--control-socket', '/nonexistent/a.sock'])
  assert.match(err, /^error: no agent answers on its control socket: connect ENOENT \/nonexistent\/a\.sock\n/)
})

test('An error names its cause once.', async () => {
  const { err } = await platnet(['policy', 'matrix', '--kubeconfig', '/nonexistent/admin.kubeconfig'])
  assert.equal(err.match(/ENOENT/g)?.length, 1, err)
})

test('A mistyped subcommand of server starts no server.', async () => {
  const { code, err } = await platnet(['server', 'bakup', '--data-dir', '/nonexistent'])
  assert.deepEqual([code, err], [2, 'error: unknown command "bakup"\n  what to do: did you mean backup?\n'])
})

test('What is no name of a pod is a usage error of logs; pod/NAME is what kubectl prints.', async () => {
  for (const name of ['a/b/c', 'Web', '', 'a..b', '-a'])
    assert.equal((await platnet(['logs', '--pods-dir', '/nonexistent', '--', name])).code, 2, name)
  const { code, err } = await platnet(['logs', 'pod/web', '-n', 'shop', '--pods-dir', '/nonexistent'])
  assert.equal(code, 1)
  assert.match(err, /^error: no pod of this name runs on this node\n {2}on: Pod shop\/web\n/)
})

test('explain with one NAMESPACE/NAME names the form for a Service.', async () => {
  const { code, err } = await platnet(['explain', 'default/web'])
  assert.equal(code, 2)
  assert.match(err, /^error: the target of the connection is missing: .*\n.*"platnet explain service default\/web"\n$/)
})

test('Help does not say of each switch that it is off.', async () => {
  for (const args of [['logs'], ['cleanup'], ['status'], ['demo']])
    assert.doesNotMatch((await platnet([...args, '--help'])).out, /default: false/)
})
