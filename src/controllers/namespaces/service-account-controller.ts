import type { Component } from '../../loop/component.ts'
import type { BaseContext } from '../base-context.ts'
import { serviceAccountType } from '../objects/types.ts'
import { createPerNamespaceController } from './per-namespace-controller.ts'

/** Keeps the `default` ServiceAccount in every namespace: Pods that name no other use it. */
export function createServiceAccountController(kit: BaseContext): Component {
  return createPerNamespaceController(kit, {
    controller: 'serviceaccount',
    type: serviceAccountType,
    name: 'default',
    fields: {},
    isAsWanted: () => true,
  })
}
