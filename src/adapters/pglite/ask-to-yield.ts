/** Asks a resident reader to release its folder. */
import { connect } from 'node:net'
import { send } from './reading-protocol.js'

/** Time limit for the connection. A process that hangs accepts it and does not answer. */
const ASK_MS = 500

/** Sends the request. Returns false if no process listens at the socket. */
export async function askToYield(address: string | undefined): Promise<boolean> {
  if (address === undefined) return false
  const socket = connect(address)
  // The resident reader closes the connection, or has no time left to.
  socket.setTimeout(ASK_MS, () => socket.destroy())
  const isConnected = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => {
      resolve(true)
    })
    socket.once('close', () => {
      resolve(false)
    })
    socket.on('error', () => {
      resolve(false)
    })
  })
  if (isConnected) await send(socket, { kind: 'yield' })
  socket.resume()
  socket.unref()
  return isConnected
}
