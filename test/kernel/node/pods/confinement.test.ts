import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import type { Launch } from '../../../../src/node/pods/container-launch.ts'
import { decideSecurity } from '../../../../src/node/pods/security-context.ts'
import { systemCallsOf } from '../../../../src/node/pods/system-calls.ts'
import { launchOf } from '../../../helpers/launch-plans.ts'
import { NetnsLab, skipReason } from '../../../helpers/netns.ts'
import { env, makeRoot, runContainer, shell } from '../../../helpers/run-container.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const hostile = readFileSync(resolve(import.meta.dirname, 'hostile.pl'), 'utf8')
/** The system calls of the hostile program beside those that create a container, by architecture. */
const otherCalls = {
  x64: {
    ...{ clone: 56, mknodat: 259, init_module: 175, finit_module: 313, kexec_load: 246, reboot: 169, bpf: 321 },
    ...{ perf_event_open: 298, add_key: 248, open_by_handle_at: 304, settimeofday: 164, swapon: 167, syslog: 103 },
    ...{ userfaultfd: 323 },
  },
  arm64: {
    ...{ clone: 220, mknodat: 33, init_module: 105, finit_module: 273, kexec_load: 104, reboot: 142, bpf: 280 },
    ...{ perf_event_open: 241, add_key: 217, open_by_handle_at: 265, settimeofday: 170, swapon: 224, syslog: 116 },
    ...{ userfaultfd: 282 },
  },
}[process.arch as string]
const calls = { ...systemCallsOf(process.arch)?.init, ...otherCalls, clone3: 435, io_uring_setup: 425 }

/** Reads the results of the hostile program, by the name of each trial. */
async function runHostile(context: TestContext, launch: Partial<Launch>, netnsPath?: string) {
  const host = makeTemporaryFolder(context)
  const hidden = join(host, 'data')
  mkdirSync(hidden)
  chmodSync(host, 0o755)
  const [secret, socket] = [join(hidden, 'secret'), join(hidden, 'agent.sock')]
  writeFileSync(secret, 'secret', { mode: 0o644 })
  const server = createServer().listen(socket)
  context.after(() => server.close())
  const numbers = Object.entries(calls).flatMap(([name, number]) => [name, String(number)])
  const command = ['perl', '-e', hostile, secret, socket, String(process.pid), ...numbers]
  const plan = { shown: [host], hidden: [hidden], netnsPath }
  const { exitCode, log } = await runContainer(context, launchOf(command, { env, ...launch }), plan)
  assert.equal(exitCode, 0, log)
  return new Map(
    log
      .trimEnd()
      .split('\n')
      .map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)]),
  )
}

/** The results that every container must have, whatever its rights. */
const always: Readonly<Record<string, string>> = {
  'read-secret': 'ENOENT',
  'read-shadow': 'ENOENT',
  'read-gshadow': 'ENOENT',
  'read-host-keys': 'ENOENT',
  'read-through-proc-1': 'ENOENT',
  'connect-socket': 'ENOENT',
  'run-folder': '',
  'control-groups': '',
  'kernel-memory': '0',
  devices: 'fd,full,mqueue,null,ptmx,pts,random,shm,stderr,stdin,stdout,tty,urandom,zero',
  processes: '1',
  'open-files': '0,1,2',
  'signal-host': 'ESRCH',
  'make-in-usr': 'EROFS',
  vsock: 'EPERM',
  'packet-socket': 'EPERM',
  mount: 'EPERM',
  'remount-writable': 'EPERM',
  unmount: 'EPERM',
  'open-tree': 'EPERM',
  'new-user-namespace': 'EPERM',
  'new-mount-namespace': 'EPERM',
  'clone-user-namespace': 'EPERM',
  clone3: 'ENOSYS',
  'enter-namespace': 'EPERM',
  'load-module': 'EPERM',
  'load-module-file': 'EPERM',
  kexec: 'EPERM',
  reboot: 'EPERM',
  bpf: 'EPERM',
  'performance-counters': 'EPERM',
  keyring: 'EPERM',
  'add-key': 'EPERM',
  'file-by-handle': 'EPERM',
  'set-clock': 'EPERM',
  'host-name': 'EPERM',
  swap: 'EPERM',
  'io-uring': 'EPERM',
  userfaultfd: 'EPERM',
  'kernel-log': 'EPERM',
  'escape-oom-killer': 'EACCES',
  NoNewPrivs: '1',
  Seccomp: '2',
  CapInh: '0000000000000000',
  CapAmb: '0000000000000000',
  'write-own': 'done',
  'write-memory': 'done',
}

const cases = [
  {
    what: 'that runs as root',
    security: decideSecurity({}, {}, false),
    own: {
      ...{
        'root-folder': '',
        'write-usr': 'EROFS',
        'write-sysctl': 'EROFS',
        'write-sysrq': 'EROFS',
        'write-sys': 'EROFS',
      },
      ...{ 'make-device': 'EPERM', 'raw-socket': 'EPERM', chroot: 'EPERM', 'change-program': 'EROFS' },
      ...{ CapPrm: '00000000000005fb', CapEff: '00000000000005fb', CapBnd: '00000000000005fb' },
      ...{ Uid: '0\t0\t0\t0', Gid: '0\t0\t0\t0', Groups: '', 'write-root': 'done' },
    },
  },
  {
    what: 'with every capability that may be asked for',
    security: decideSecurity(
      {},
      { capabilities: { add: ['NET_RAW', 'SYS_CHROOT', 'AUDIT_WRITE', 'CAP_SETFCAP'] } },
      false,
    ),
    own: {
      ...{
        'raw-socket': 'done',
        'packet-socket': 'done',
        chroot: 'done',
        'write-sysctl': 'EROFS',
        'write-usr': 'EROFS',
      },
      ...{ 'make-device': 'EPERM', CapEff: '00000000a00425fb', CapBnd: '00000000a00425fb' },
    },
  },
  {
    what: 'that gave up all rights, with users, groups and a root that is not to be written to',
    security: decideSecurity(
      { fsGroup: 2000, supplementalGroups: [3000, 2000] },
      {
        ...{ runAsUser: 1000, runAsGroup: 1001, runAsNonRoot: true, readOnlyRootFilesystem: true },
        ...{
          capabilities: { drop: ['ALL'] },
          allowPrivilegeEscalation: false,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      },
      false,
    ),
    own: {
      ...{
        'root-folder': '',
        'write-usr': 'EACCES',
        'write-sysctl': 'EACCES',
        'make-device': 'EROFS',
        chroot: 'EPERM',
      },
      ...{ 'raw-socket': 'EPERM', 'change-program': 'EROFS', 'write-own': 'EROFS', 'write-root': 'EROFS' },
      ...{ CapPrm: '0000000000000000', CapEff: '0000000000000000', CapBnd: '0000000000000000' },
      ...{ Uid: '1000\t1000\t1000\t1000', Gid: '1001\t1001\t1001\t1001', Groups: '2000 3000 ' },
    },
  },
]

describe('a container', { skip: skipReason('perl', 'setsid') }, () => {
  const lab = new NetnsLab()
  after(() => lab.remove())

  for (const { what, security, own } of cases) {
    test(`${what} reaches nothing of the host and has the rights of its specification`, async (context) => {
      const { name } = await lab.create()
      const seen = await runHostile(context, { security }, `/run/netns/${name}`)
      const wanted = { ...always, ...own }
      assert.deepEqual(Object.fromEntries(Object.keys(wanted).map((trial) => [trial, seen.get(trial)])), wanted)
    })
  }

  test('has its own empty folders, and hidden paths below a shown folder are empty', async (context) => {
    const shown = makeTemporaryFolder(context)
    chmodSync(shown, 0o755)
    mkdirSync(join(shown, 'keys'))
    for (const file of ['app', 'keys/ca.key', 'token']) writeFileSync(join(shown, file), file)
    const script = `cat ${shown}/app; ls ${shown}/keys; wc -c <${shown}/token; echo x >${shown}/app; pwd; ls -d /srv/made; hostname`
    const launch = shell(script, { workingDir: '/srv/made' })
    const plan = { shown: [shown], hidden: [join(shown, 'keys'), join(shown, 'token')], hostname: 'web-0' }
    const { log } = await runContainer(context, launch, plan)
    const said = log.replaceAll(shown, 'SHOWN').split('\n')
    assert.deepEqual(said, [
      'app0',
      '/bin/sh: 1: cannot create SHOWN/app: Read-only file system',
      '/srv/made',
      '/srv/made',
      'web-0',
      '',
    ])
  })

  test('gets no rights from a set-user-ID program, also with allowPrivilegeEscalation', async (context) => {
    const shown = makeTemporaryFolder(context)
    chmodSync(shown, 0o755)
    copyFileSync('/usr/bin/id', join(shown, 'id'))
    chmodSync(join(shown, 'id'), 0o4755)
    const security = decideSecurity({}, { runAsUser: 1000, allowPrivilegeEscalation: true }, false)
    const { log } = await runContainer(context, launchOf([join(shown, 'id'), '-u'], { env, security }), {
      shown: [shown],
    })
    assert.equal(log, '1000\n')
  })

  test('whose program is /proc/self/exe runs it from a read-only file', async (context) => {
    const change = `chmod 0755, '/proc/self/exe' or print "$!\n"`
    const { log } = await runContainer(context, launchOf(['/proc/self/exe', '-e', change], { env }))
    assert.equal(log, 'Read-only file system\n')
  })

  for (const [what, command, wanted] of [
    ['a program that is not there', ['/bin/nothing'], [127, 'platnet: /bin/nothing: No such file or directory\n']],
    ['what is no program', ['/etc/passwd'], [126, 'platnet: /etc/passwd: Permission denied\n']],
    ['a program whose name is like a variable', ['a=b'], [127, 'platnet: a=b: No such file or directory\n']],
  ] as const) {
    test(`with ${what} ends with the exit code of a shell and reports why`, async (context) => {
      const { exitCode, log } = await runContainer(context, launchOf(command, { env }))
      assert.deepEqual([exitCode, log], wanted)
    })
  }

  test('gets variables and arguments unchanged', async (context) => {
    const odd = 'it\'s "$HOME" `x`\n=\t\u00fc'
    const command = ['perl', '-e', 'print "$ENV{ODD}|$ENV{EMPTY}|", join("|", @ARGV), "|", scalar keys %ENV', odd, '']
    const { log } = await runContainer(context, launchOf(command, { env: [...env, ['ODD', odd], ['EMPTY', '']] }))
    assert.equal(log, `${odd}||${odd}||3`)
  })
})

describe('a container with a root filesystem of its own', { skip: skipReason('perl', 'setsid', 'ldd') }, () => {
  test('sees nothing else, has its network files, and can write to it', async (context) => {
    const rootFilesystem = await makeRoot(context)
    const source = join(makeTemporaryFolder(context), 'resolv.conf')
    writeFileSync(source, 'nameserver 10.96.0.10\n')
    const script =
      'echo /*; read -r line </etc/resolv.conf; echo $line; echo x >/etc/resolv.conf; echo mine >/file; echo $$'
    const { log } = await runContainer(context, shell(script, { rootFilesystem }), {
      files: [{ source, target: '/etc/resolv.conf' }],
    })
    const [names, resolver, refused, pid] = log.split('\n')
    assert.deepEqual(
      names?.split(' ').filter((name) => !name.startsWith('/lib')),
      ['/bin', '/dev', '/etc', '/proc', '/sys'],
    )
    assert.deepEqual([resolver, pid], ['nameserver 10.96.0.10', '1'])
    assert.match(refused ?? '', /Read-only file system/)
    assert.equal(readFileSync(join(rootFilesystem, 'file'), 'utf8'), 'mine\n')
  })

  test('cannot write to it if it is read-only', async (context) => {
    const rootFilesystem = await makeRoot(context)
    const security = decideSecurity({}, { readOnlyRootFilesystem: true }, false)
    const { log } = await runContainer(context, shell('echo mine >/file', { rootFilesystem, security }))
    assert.match(log, /Read-only file system/)
  })

  for (const [what, path] of [
    ['its /proc', 'proc'],
    ['its /dev', 'dev'],
    ['its /etc', 'etc'],
  ] as const) {
    test(`does not start if ${what} is a link, which could lead out of it`, async (context) => {
      const rootFilesystem = await makeRoot(context)
      const target = makeTemporaryFolder(context)
      symlinkSync(target, join(rootFilesystem, path))
      const source = join(makeTemporaryFolder(context), 'hosts')
      writeFileSync(source, '')
      const { exitCode, log } = await runContainer(context, shell('echo began', { rootFilesystem }), {
        files: [{ source, target: '/etc/hosts' }],
      })
      assert.equal(exitCode, 128)
      assert.match(log, new RegExp(`^platnet: the root filesystem's /${path}.*: Not a directory\n$`))
      assert.deepEqual(readdirSync(target), [])
    })
  }

  test('does not start if the root filesystem itself is a link', async (context) => {
    const link = join(makeTemporaryFolder(context), 'link')
    symlinkSync('/', link)
    const { exitCode, log } = await runContainer(context, shell('echo began', { rootFilesystem: link }))
    assert.deepEqual([exitCode, log], [128, `platnet: ${link}: Not a directory\n`])
  })
})
