import { formatAmount, parseAmount } from '../../model/amount.ts'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, objectAt, textAt } from '../document.ts'
import { defineKind } from './define-kind.ts'
import { validateQuota, validateQuotaStatus, validateQuotaUpdate } from './quota-rules.ts'
import { column, type Resource } from './resource.ts'

export function resourceQuotas(): Resource {
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'ResourceQuota',
    plural: 'resourcequotas',
    shortNames: ['quota'],
    namespaced: true,
    subresources: ['status'],
    defaults: { spec: { default: {} }, status: { default: {} } },
    columns: [
      column('Request', (quota) => usageCell(quota, false)),
      column('Limit', (quota) => usageCell(quota, true)),
    ],
    strategy: {
      validate: validateQuota,
      validateUpdate: validateQuotaUpdate,
      validateStatus: ({ status }) => validateQuotaStatus(status),
    },
  })
}

function usageCell({ status }: ApiDocument, isLimits: boolean): string {
  const [hard, used] = [objectAt(status, 'hard'), objectAt(status, 'used')]
  const shown = (amount: Json | undefined) => formatAmount(parseAmount(textAt(amount) || '0'))
  return Object.keys(hard)
    .filter((name) => name.startsWith('limits.') === isLimits)
    .toSorted()
    .map((name) => `${name}: ${shown(used[name])}/${shown(hard[name])}`)
    .join(', ')
}
