import { changes, creates, type KindCases, otherWords, replaces } from './write-case.ts'

const group = '/apis/rbac.authorization.k8s.io/v1'
const namespaced = `${group}/namespaces/default`
const reading = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }
const named = (name: string) => ({ metadata: { name } })
const rule = (change: object) => ({ rules: [{ ...reading, ...change }] })
const urls = { verbs: ['get'], nonResourceURLs: ['/healthz'] }

const role = creates(`${namespaced}/roles`, { metadata: { name: 'new' }, rules: [reading] })
const clusterRole = creates(`${group}/clusterroles`, { metadata: { name: 'new' }, rules: [reading] })
const updateRole = changes(`${namespaced}/roles/reader`)
const replaceRole = replaces(`${namespaced}/roles/reader`, { metadata: { name: 'reader' }, rules: [reading] })
const replaceAbsent = replaces(`${namespaced}/roles/absent`, { metadata: { name: 'absent' }, rules: [reading] })

export const roleCases: KindCases = {
  title: 'Roles',
  fixtures: [{ path: `${namespaced}/roles`, body: { ...named('reader'), rules: [reading] } }],
  cases: [
    role('nothing special', {}),
    role('no rules', { rules: null }),
    role('an empty rule', { rules: [{}] }, [
      'Required rules[0].verbs',
      'Required rules[0].apiGroups',
      'Required rules[0].resources',
    ]),
    role('a rule without verbs', rule({ verbs: [] }), ['Required rules[0].verbs']),
    role('a rule without groups', rule({ apiGroups: null }), ['Required rules[0].apiGroups']),
    role('a rule without resources', rule({ resources: null }), ['Required rules[0].resources']),
    role('a rule of names', rule({ resourceNames: ['a', ''] })),
    role('a rule of anything', rule({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] })),
    role('a rule of paths', { rules: [urls] }, ['Invalid rules[0].nonResourceURLs']),
    role('a rule of paths and resources', { rules: [{ ...reading, ...urls }] }, ['Invalid rules[0].nonResourceURLs']),
    role('a rule of paths without verbs', { rules: [{ ...urls, verbs: null }] }, [
      'Required rules[0].verbs',
      'Invalid rules[0].nonResourceURLs',
    ]),
    role('a second rule without verbs', { rules: [reading, { ...reading, verbs: null }] }, ['Required rules[1].verbs']),
    role('a name with colons and capitals', named('System:Reader')),
    role('a name with a slash', named('a/b'), ['Invalid metadata.name']),
    role('a name with a percent sign and a slash', named('a%/b'), ['Invalid metadata.name'], otherWords.firstFault),
    role('a name of two dots', named('..'), ['Invalid metadata.name']),
    role('a name of a dot', named('.'), ['Invalid metadata.name']),
    role('no name', { metadata: {} }, ['Required metadata.name']),
    updateRole('other verbs', rule({ verbs: ['list'] })),
    updateRole('no verbs', rule({ verbs: [] }), ['Required rules[0].verbs']),
    replaceRole('no rules', { rules: [] }),
    replaceAbsent('a role that is absent', {}, [], { code: 201 }),
    replaceAbsent('an invalid role that is absent', { rules: [{}] }, [
      'Required rules[0].verbs',
      'Required rules[0].apiGroups',
      'Required rules[0].resources',
    ]),
    replaceAbsent('a revision of a role that is absent', { metadata: { name: 'absent', resourceVersion: '7' } }, [], {
      code: 201,
    }),
    replaceAbsent('the uid of a role that is absent', { metadata: { name: 'absent', uid: 'gone' } }, [], {
      code: 409,
      reason: 'Conflict',
    }),
    replaceAbsent('a role that is absent, without its name', { metadata: {} }, [], {
      code: 201,
      differs: 'a PUT may leave out the name that its path has',
    }),
    replaceAbsent('a role that is absent, by another name', { metadata: { name: 'other' } }, [], {
      code: 400,
      reason: 'BadRequest',
    }),
  ],
}

const aggregated = (...clusterRoleSelectors: readonly object[]) => ({ aggregationRule: { clusterRoleSelectors } })
const selector0 = 'aggregationRule.clusterRoleSelectors[0]'
const updateClusterRole = changes(`${group}/clusterroles/everyone`)

export const clusterRoleCases: KindCases = {
  title: 'ClusterRoles',
  fixtures: [{ path: `${group}/clusterroles`, body: { ...named('everyone'), rules: [reading] } }],
  cases: [
    clusterRole('nothing special', {}),
    clusterRole('a rule of paths', { rules: [urls] }),
    clusterRole('a rule of paths and resources', { rules: [{ ...reading, ...urls }] }, [
      'Invalid rules[0].nonResourceURLs',
    ]),
    clusterRole('a rule of paths and names', { rules: [{ ...urls, resourceNames: ['a'] }] }, [
      'Invalid rules[0].nonResourceURLs',
    ]),
    clusterRole('a rule of a path without slash', { rules: [{ ...urls, nonResourceURLs: ['healthz', ''] }] }),
    clusterRole('an empty rule', { rules: [{}] }, [
      'Required rules[0].verbs',
      'Required rules[0].apiGroups',
      'Required rules[0].resources',
    ]),
    clusterRole('roles by their labels', aggregated({ matchLabels: { a: 'b' } })),
    clusterRole('roles by no selector', aggregated(), ['Required aggregationRule.clusterRoleSelectors']),
    clusterRole('an empty aggregation', { aggregationRule: {} }, ['Required aggregationRule.clusterRoleSelectors']),
    clusterRole('any role', aggregated({})),
    clusterRole('roles by a label value with a blank', aggregated({ matchLabels: { a: 'b c' } }), [
      `Invalid ${selector0}.matchLabels`,
      `Invalid ${selector0}`,
    ]),
    clusterRole('roles by an operator that is none', aggregated({ matchExpressions: [{ key: 'a', operator: 'x' }] }), [
      `Invalid ${selector0}.matchExpressions[0].operator`,
      `Invalid ${selector0}`,
    ]),
    clusterRole('roles In nothing', aggregated({ matchExpressions: [{ key: 'a', operator: 'In' }] }), [
      `Required ${selector0}.matchExpressions[0].values`,
      `Invalid ${selector0}`,
    ]),
    updateClusterRole('an empty aggregation', { aggregationRule: {} }, [
      'Required aggregationRule.clusterRoleSelectors',
    ]),
    updateClusterRole('a rule of paths', { rules: [urls] }),
  ],
}

const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' }
const user = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' }
const account = { kind: 'ServiceAccount', name: 'default', namespace: 'default' }
const binding = creates(`${namespaced}/rolebindings`, { metadata: { name: 'new' }, roleRef, subjects: [user] })
const bound = (change: object) => ({ roleRef: { ...roleRef, ...change } })
const subject = (change: object) => ({ subjects: [{ ...user, ...change }] })
const accounted = (change: object) => ({ subjects: [{ ...account, ...change }] })
const updateBinding = changes(`${namespaced}/rolebindings/readers`)

export const roleBindingCases: KindCases = {
  title: 'RoleBindings',
  fixtures: [{ path: `${namespaced}/rolebindings`, body: { ...named('readers'), roleRef, subjects: [user] } }],
  cases: [
    binding('nothing special', {}),
    binding('a name with colons', named('system:reader')),
    binding('a name with a slash', named('a/b'), ['Invalid metadata.name']),
    binding('a role of the cluster', bound({ kind: 'ClusterRole', name: 'view' })),
    binding('a role of the default group', bound({ apiGroup: '' })),
    binding('a role of another group', bound({ apiGroup: 'apps' }), ['NotSupported roleRef.apiGroup']),
    binding('a role of another kind', bound({ kind: 'Deployment' }), ['NotSupported roleRef.kind']),
    binding('a role without name', bound({ name: '' }), ['Required roleRef.name']),
    binding('a role with a slash', bound({ name: 'a/b' }), ['Invalid roleRef.name']),
    binding('no role', { roleRef: null }, ['NotSupported roleRef.kind', 'Required roleRef.name']),
    binding('no subjects', { subjects: null }),
    binding('a user without name', subject({ name: '' }), ['Required subjects[0].name']),
    binding('a user of the default group', subject({ apiGroup: null })),
    binding('a user of another group', subject({ apiGroup: 'apps' }), ['NotSupported subjects[0].apiGroup']),
    binding('a group of another group', subject({ kind: 'Group', apiGroup: 'apps' }), [
      'NotSupported subjects[0].apiGroup',
    ]),
    binding('a user with colons and slashes', subject({ name: 'https://issuer#Ann' })),
    binding('a user in a namespace', subject({ namespace: 'default' })),
    binding('a subject of another kind', subject({ kind: 'Robot' }), ['NotSupported subjects[0].kind']),
    binding('an empty subject', { subjects: [{}] }, ['Required subjects[0].name', 'NotSupported subjects[0].kind']),
    binding('an account', accounted({})),
    binding('an account of the namespace', accounted({ namespace: null })),
    binding('an account in capitals', accounted({ name: 'Default' }), ['Invalid subjects[0].name']),
    binding('an account of a group', accounted({ apiGroup: 'rbac.authorization.k8s.io' }), [
      'NotSupported subjects[0].apiGroup',
    ]),
    binding('an account without name', accounted({ name: '' }), ['Required subjects[0].name']),
    updateBinding('other subjects', { subjects: [account] }),
    updateBinding('another role', bound({ name: 'writer' }), ['Invalid roleRef'], otherWords.goFields),
    updateBinding(
      'no role',
      { roleRef: null },
      ['NotSupported roleRef.kind', 'Required roleRef.name', 'Invalid roleRef'],
      otherWords.goFields,
    ),
    updateBinding('an invalid subject', subject({ kind: 'Robot' }), ['NotSupported subjects[0].kind']),
    replaces(`${namespaced}/rolebindings/absent`, { metadata: { name: 'absent' }, roleRef, subjects: [user] })(
      'a binding that is absent',
      {},
      [],
      { code: 201 },
    ),
  ],
}

const clusterRef = { ...roleRef, kind: 'ClusterRole', name: 'view' }
const clusterBinding = creates(`${group}/clusterrolebindings`, {
  metadata: { name: 'new' },
  roleRef: clusterRef,
  subjects: [user],
})
const updateClusterBinding = changes(`${group}/clusterrolebindings/viewers`)

export const clusterRoleBindingCases: KindCases = {
  title: 'ClusterRoleBindings',
  fixtures: [
    { path: `${group}/clusterrolebindings`, body: { ...named('viewers'), roleRef: clusterRef, subjects: [user] } },
  ],
  cases: [
    clusterBinding('nothing special', {}),
    clusterBinding('a role of a namespace', bound({}), ['NotSupported roleRef.kind']),
    clusterBinding('a role with a percent sign', { roleRef: { ...clusterRef, name: 'a%b' } }, ['Invalid roleRef.name']),
    clusterBinding('an account', accounted({})),
    clusterBinding('an account of no namespace', accounted({ namespace: '' }), ['Required subjects[0].namespace']),
    clusterBinding('an account of no name', accounted({ name: '', namespace: '' }), [
      'Required subjects[0].name',
      'Required subjects[0].namespace',
    ]),
    clusterBinding('a group', subject({ kind: 'Group', name: 'admins' })),
    replaces(`${group}/clusterrolebindings/viewers`, { metadata: { name: 'viewers' }, roleRef: clusterRef })(
      'the object without its revision and subjects',
      {},
    ),
    updateClusterBinding('another role', { roleRef: { name: 'edit' } }, ['Invalid roleRef'], otherWords.goFields),
    updateClusterBinding('other subjects', { subjects: [account] }),
  ],
}
