/** What `context-ledger/proxy` exports. */
export { createProxy, type Proxy, type ProxyOptions } from './create-proxy.js'
export type { Caller } from './identify-request.js'
export { startProxy, type ProxyServer, type ProxyServerOptions } from './server.js'
