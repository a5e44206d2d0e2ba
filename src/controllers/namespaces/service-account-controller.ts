import type { Component } from '../../loop/component.ts'
import type { BaseContext } from '../base-context.ts'
import { serviceAccountType } from '../objects/types.ts'
import { createPerNamespaceController } from './per-namespace-controller.ts'

/** Every namespace has its `default` ServiceAccount: Pods that name no other run as this one. */
export function createServiceAccountController(kit: BaseContext): Component {
  return createPerNamespaceController(kit, {
    controller: 'serviceaccount',
    type: serviceAccountType,
    name: 'default',
    fields: {},
    isAsWanted: () => true,
  })
}
