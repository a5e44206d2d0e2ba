import { listAt } from '../document.ts'
import { defineKind } from './define-kind.ts'
import { column, type Resource } from './resource.ts'

export function serviceAccounts(): Resource {
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    shortNames: ['sa'],
    namespaced: true,

    columns: [column('Secrets', (account) => listAt(account['secrets']).length)],
  })
}
