// Report to a shuffledp collection: verify the task, randomize, seal, submit, remember. See README.md.

export { canonical } from "./src/canonical.js";
export { Client } from "./src/client.js";
export { ShuffledpError } from "./src/errors.js";
export { fingerprint } from "./src/keys.js";
export { SystemWords, messagesFor, readProtocol } from "./src/protocol.js";
export { LocalStorage, MemoryStorage } from "./src/storage.js";
export { taskId, verifyTask } from "./src/task.js";
