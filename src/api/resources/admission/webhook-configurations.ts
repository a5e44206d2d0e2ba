import type { Dialect } from '../../../model/dialect.ts'
import { listAt } from '../../document.ts'
import type { Schema } from '../../schema/schema.ts'
import { defineKind } from '../define-kind.ts'
import { column, type Resource } from '../resource.ts'
import { checkWebhooks } from './webhook-rules.ts'

/** The plurals of the kinds, under which the store keeps them. */
export const webhookPlurals = {
  mutating: 'mutatingwebhookconfigurations',
  validating: 'validatingwebhookconfigurations',
} as const

const webhookDefaults: Readonly<Record<string, Schema>> = {
  failurePolicy: { default: 'Fail' },
  matchPolicy: { default: 'Equivalent' },
  namespaceSelector: { default: {} },
  objectSelector: { default: {} },
  timeoutSeconds: { default: 10 },
  rules: { items: { properties: { scope: { default: '*' } } } },
  clientConfig: { properties: { service: { properties: { port: { default: 443 } } } } },
}

/** Returns the kinds of webhooks that the server asks about writes. */
export function webhookConfigurations(dialect: Dialect): readonly Resource[] {
  const define = (kind: string, plural: string, defaults: Readonly<Record<string, Schema>>) =>
    defineKind({
      group: dialect.groups.admissionregistration,
      version: 'v1',
      kind,
      plural,
      categories: ['api-extensions'],
      namespaced: false,
      defaults: { webhooks: { items: { properties: defaults } } },
      countsGeneration: true,
      columns: [{ ...column('Webhooks', ({ webhooks }) => listAt(webhooks).length), type: 'integer' }],
      strategy: { needsRevision: 'object', validate: checkWebhooks },
    })
  return [
    define('MutatingWebhookConfiguration', webhookPlurals.mutating, {
      ...webhookDefaults,
      reinvocationPolicy: { default: 'Never' },
    }),
    define('ValidatingWebhookConfiguration', webhookPlurals.validating, webhookDefaults),
  ]
}
