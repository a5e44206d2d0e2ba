import type { Component } from '../../loop/component.ts'
import type { BaseContext } from '../base-context.ts'
import { rootCaType } from '../objects/types.ts'
import { createPerNamespaceController } from './per-namespace-controller.ts'

/** Every namespace has the ConfigMap `kube-root-ca.crt`, by which its Pods verify the API server; `rootCaPem` is the cluster's CA. */
export function createRootCaController(kit: BaseContext, rootCaPem: string): Component {
  return createPerNamespaceController(kit, {
    controller: 'root-ca-certificate-publisher',
    type: rootCaType,
    name: 'kube-root-ca.crt',
    fields: { data: { 'ca.crt': rootCaPem } },
    isAsWanted: ({ data }) => data?.['ca.crt'] === rootCaPem,
  })
}
