/** Opens the key store of the service for one command. */
import type { KeyStore } from '../../ports/service-state.js'
import type { Config } from './config/load-config.js'
import type { Flags } from './flags.js'

/** Opens the key store, calls `work` and closes the store. */
export async function withKeys<T>(flags: Flags, work: (keys: KeyStore, config: Config) => Promise<T>): Promise<T> {
  const { loadConfig } = await import('./config/load-config.js')
  const config = await loadConfig({ flags, env: process.env, cwd: process.cwd() }, { writes: false })
  const { openKeys } = await import('../../library/compose.js')
  const opened = await openKeys({
    store: config.store,
    ...(config.database === undefined ? {} : { database: config.database }),
  })
  try {
    return await work(opened.keys, config)
  } finally {
    await opened.close()
  }
}
