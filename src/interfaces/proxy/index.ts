/** What `context-ledger/proxy` exports. */
export { createProxy, type Proxy } from './create-proxy.js'
export type { ProxyOptions } from './proxy-state.js'
export type { Caller } from './identify-request.js'
export { startProxy, type ProxyServer, type ProxyServerOptions } from './server.js'
