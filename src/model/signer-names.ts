/** The signers that the cluster's CA answers to, and the one that has no rules. */
export interface SignerNames {
  /** Certificates of clients of the API. */
  readonly client: string
  /** Client certificates of kubelets. */
  readonly kubeletClient: string
  /** Certificates of the servers of kubelets. */
  readonly kubeletServing: string
  /** The signer of requests that named none; no new request may name it. */
  readonly legacy: string
}

/** Returns the names of the signers under a domain. */
export function signerNames(domain: string): SignerNames {
  return {
    client: `${domain}/kube-apiserver-client`,
    kubeletClient: `${domain}/kube-apiserver-client-kubelet`,
    kubeletServing: `${domain}/kubelet-serving`,
    legacy: `${domain}/legacy-unknown`,
  }
}
