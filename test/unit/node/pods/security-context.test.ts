import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decideSecurity } from '../../../../src/node/pods/security-context.ts'

const decide = (pod: object, container: object, hasImage = false) => decideSecurity(pod, container, hasImage)

describe('the security of a container', () => {
  test('has few rights by default', () => {
    const capabilities = [
      'CHOWN',
      'DAC_OVERRIDE',
      'FOWNER',
      'FSETID',
      'KILL',
      'SETGID',
      'SETUID',
      'SETPCAP',
      'NET_BIND_SERVICE',
    ]
    const plain = { user: undefined, groups: [], noNewPrivileges: true, isRootReadOnly: false }
    assert.deepEqual(decide({}, {}), { ...plain, capabilities })
  })

  test('comes from the container before the pod, field by field; null counts as absent', () => {
    const pod = { runAsUser: 1, runAsGroup: 2, runAsNonRoot: true, fsGroup: 5, supplementalGroups: [6, 5, 7] }
    const { user, groups } = decide(pod, { runAsUser: 3, runAsGroup: null })
    assert.deepEqual([user, groups], [{ uid: 3, gid: 2 }, [5, 6, 7]])
  })

  test('has group 0 for a user without a group, like Kubernetes', () => {
    assert.deepEqual(decide({}, { runAsUser: 1000 }).user, { uid: 1000, gid: 0 })
    assert.deepEqual(decide({}, { runAsGroup: 1000 }).user, { uid: 0, gid: 1000 })
  })

  for (const [what, capabilities, held] of [
    ['dropping all', { drop: ['ALL'] }, []],
    ['dropping all and adding one', { drop: ['all'], add: ['CAP_net_raw', 'KILL'] }, ['NET_RAW', 'KILL']],
    ['dropping what is added', { drop: ['ALL', 'KILL'], add: ['KILL', 'CHOWN'] }, ['CHOWN']],
  ] as const)
    test(`${what} leaves ${held.join(' and ') || 'none'} of the capabilities`, () => {
      assert.deepEqual(decide({}, { capabilities }).capabilities, held)
    })

  test('allows new privileges only on request', () => {
    assert.equal(decide({}, { allowPrivilegeEscalation: false }).noNewPrivileges, true)
    assert.equal(decide({}, { allowPrivilegeEscalation: true }).noNewPrivileges, false)
  })

  test('accepts fields with their default values', () => {
    decide(
      {
        seccompProfile: { type: 'RuntimeDefault' },
        sysctls: [],
        fsGroupChangePolicy: 'Always',
        supplementalGroupsPolicy: 'Strict',
      },
      { privileged: false, procMount: 'Default', appArmorProfile: { type: 'Unconfined' }, seLinuxOptions: {} },
    )
  })

  const refused: readonly [object, object, RegExp][] = [
    [{}, { privileged: true }, /^privileged is not supported/],
    [{}, { capabilities: { add: ['SYS_ADMIN'] } }, /^capabilities.add SYS_ADMIN is not supported/],
    [{}, { capabilities: { add: ['ALL'] } }, /^capabilities.add ALL/],
    [{}, { capabilities: { add: ['toString'] } }, /^capabilities.add TOSTRING/],
    [{}, { procMount: 'Unmasked' }, /^procMount Unmasked/],
    [{ seccompProfile: { type: 'Unconfined' } }, {}, /^seccompProfile Unconfined/],
    [{}, { seccompProfile: { type: 'Localhost', localhostProfile: 'x' } }, /^seccompProfile Localhost/],
    [{ appArmorProfile: { type: 'RuntimeDefault' } }, {}, /^appArmorProfile RuntimeDefault/],
    [{}, { appArmorProfile: { type: 'Localhost' } }, /^appArmorProfile Localhost/],
    [{ seLinuxOptions: { level: 's0' } }, {}, /^seLinuxOptions/],
    [{ seLinuxChangePolicy: 'MountOption' }, {}, /^seLinuxChangePolicy/],
    [{}, { windowsOptions: {} }, /^windowsOptions/],
    [{ sysctls: [{ name: 'net.core.somaxconn' }] }, {}, /^sysctls net.core.somaxconn/],
    [{ supplementalGroupsPolicy: 'Merge' }, {}, /^supplementalGroupsPolicy Merge/],
    [{ newField: true }, {}, /^securityContext of the pod: newField is not supported/],
    [{}, { newField: 1 }, /^securityContext: newField is not supported/],
    [{ runAsNonRoot: true }, {}, /runAsNonRoot and would run as root/],
    [{ runAsNonRoot: true }, { runAsUser: 0 }, /breaks non-root policy/],
  ]
  for (const [pod, container, expected] of refused)
    test(`${JSON.stringify(pod)} with ${JSON.stringify(container)} is refused by its name`, () => {
      assert.throws(() => decide(pod, container), { name: 'TypeError', message: expected })
    })

  test('has no group without a user if the image decides the user', () => {
    assert.throws(() => decide({}, { runAsGroup: 5 }, true), /the user of the image is unknown/)
    assert.equal(decide({}, {}, true).user, undefined)
  })
})
