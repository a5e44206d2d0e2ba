import type { Dialect } from '../../model/dialect.ts'
import { listAt } from '../document.ts'
import { defineKind } from './define-kind.ts'
import { column, type Resource } from './resource.ts'

export function serviceAccounts({ groups }: Dialect): Resource {
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    shortNames: ['sa'],
    namespaced: true,
    subresources: ['token'],
    tokenRequest: defineKind({
      group: groups.authentication,
      version: 'v1',
      kind: 'TokenRequest',
      plural: 'tokenrequests',
      namespaced: true,
    }),
    columns: [column('Secrets', (account) => listAt(account['secrets']).length)],
    strategy: { showDeleted: (account) => account },
  })
}
