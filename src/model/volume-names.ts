/** How a dialect spells the annotations and finalizers of volumes, claims and storage classes. */
export interface VolumeNames {
  /** Annotation of a claim: the binder has finished, so that a volume which is gone makes the claim Lost. */
  readonly bindCompleted: string
  /** Annotation of a claim or volume: the binder chose the other side, and takes its choice back at the end. */
  readonly boundByController: string
  /** Annotation of a claim: the node that the scheduler has chosen for the first Pod that uses it. */
  readonly selectedNode: string
  /** Annotations of a claim: the provisioner that it waits for; the second is what older provisioners read. */
  readonly storageProvisioners: readonly string[]
  /** Annotation of a volume: the provisioner that made it, and that deletes it. */
  readonly provisionedBy: string
  /** Annotation of volumes and claims with the name of their class, as it was written before there was a field. */
  readonly storageClass: string
  /** Annotation of a volume with its mount options, as they were written before there was a field. */
  readonly mountOptions: string
  /** Annotations of a StorageClass, with the value `true`: claims that name no class get this one. */
  readonly defaultClass: readonly string[]
  /** The provisioner of classes whose volumes people make. */
  readonly noProvisioner: string
  /** Finalizers of volumes, claims and VolumeAttributesClasses while they are in use. */
  readonly volumeProtection: string
  readonly claimProtection: string
  readonly attributesProtection: string
}

export function volumeNames(domain: string): VolumeNames {
  return {
    bindCompleted: `pv.${domain}/bind-completed`,
    boundByController: `pv.${domain}/bound-by-controller`,
    selectedNode: `volume.${domain}/selected-node`,
    storageProvisioners: [`volume.${domain}/storage-provisioner`, `volume.beta.${domain}/storage-provisioner`],
    provisionedBy: `pv.${domain}/provisioned-by`,
    storageClass: `volume.beta.${domain}/storage-class`,
    mountOptions: `volume.beta.${domain}/mount-options`,
    defaultClass: [`storageclass.${domain}/is-default-class`, `storageclass.beta.${domain}/is-default-class`],
    noProvisioner: `${domain}/no-provisioner`,
    volumeProtection: `${domain}/pv-protection`,
    claimProtection: `${domain}/pvc-protection`,
    attributesProtection: `${domain}/vac-protection`,
  }
}
