import { ApiClient, ApiError } from '../../src/client/index.ts'
import type { TestServer } from './api-server.ts'
import { accessOfServer } from './controllers.ts'

/** A client of which every third write fails: in turn refused as a conflict, or done while the answer is lost. */
export class FlakyClient extends ApiClient {
  #writes = 0

  constructor(server: TestServer) {
    super(accessOfServer(server))
  }

  override create(...args: Parameters<ApiClient['create']>) {
    return this.#disturb(() => super.create(...args))
  }

  override update(...args: Parameters<ApiClient['update']>) {
    return this.#disturb(() => super.update(...args))
  }

  override patch(...args: Parameters<ApiClient['patch']>) {
    return this.#disturb(() => super.patch(...args))
  }

  override delete(...args: Parameters<ApiClient['delete']>) {
    return this.#disturb(() => super.delete(...args))
  }

  override deleteCollection(...args: Parameters<ApiClient['deleteCollection']>) {
    return this.#disturb(() => super.deleteCollection(...args))
  }

  async #disturb<T>(write: () => Promise<T>): Promise<T> {
    this.#writes += 1
    if (this.#writes % 6 === 3) throw new ApiError('conflict', 'a conflict made by the test')
    const answer = await write()
    if (this.#writes % 6 === 0) throw new ApiError('unavailable', 'an answer lost by the test')
    return answer
  }
}
