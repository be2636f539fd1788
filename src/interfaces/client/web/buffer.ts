/** `Buffer`, which edge runtimes and browsers lack. The build puts it where the client uses Node's own. */
export { Buffer } from 'buffer/index.js'
