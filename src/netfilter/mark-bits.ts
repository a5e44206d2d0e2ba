/** Every bit of the packet mark that is ours, so that no two parts ever use one for two things. */
export const markBits = {
  /** Set by PLAT-MARK-MASQ, read and cleared by PLAT-POSTROUTING. */
  masquerade: 0x4000,
  /** Set by PLAT-NP-OK, read and cleared by the chains of NetworkPolicy in the same walk: this direction is allowed. */
  policyAllowed: 0x10000,
} as const
