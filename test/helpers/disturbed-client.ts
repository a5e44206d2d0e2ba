import { ApiClient } from '../../src/client/index.ts'

/** A client whose writes go through `disturb`, which may refuse them, or lose the answer. */
export abstract class DisturbedClient extends ApiClient {
  protected abstract disturb<T>(write: () => Promise<T>): Promise<T>

  override create(...args: Parameters<ApiClient['create']>) {
    return this.disturb(() => super.create(...args))
  }

  override update(...args: Parameters<ApiClient['update']>) {
    return this.disturb(() => super.update(...args))
  }

  override patch(...args: Parameters<ApiClient['patch']>) {
    return this.disturb(() => super.patch(...args))
  }

  override delete(...args: Parameters<ApiClient['delete']>) {
    return this.disturb(() => super.delete(...args))
  }

  override deleteCollection(...args: Parameters<ApiClient['deleteCollection']>) {
    return this.disturb(() => super.deleteCollection(...args))
  }
}
