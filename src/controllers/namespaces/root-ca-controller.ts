import type { Component } from '../../loop/component.ts'
import type { BaseContext } from '../base-context.ts'
import { rootCaType } from '../objects/types.ts'
import { createPerNamespaceController } from './per-namespace-controller.ts'

/** Keeps the ConfigMap `kube-root-ca.crt` in every namespace, by which Pods verify the API server; `rootCaPem` is the cluster's CA. */
export function createRootCaController(kit: BaseContext, rootCaPem: string): Component {
  return createPerNamespaceController(kit, {
    controller: 'root-ca-certificate-publisher',
    type: rootCaType,
    name: 'kube-root-ca.crt',
    fields: { data: { 'ca.crt': rootCaPem } },
    isAsWanted: ({ data }) => data?.['ca.crt'] === rootCaPem,
  })
}
