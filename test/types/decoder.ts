// How TypeScript infers a Decoder's types from its options. It is checked, not run.

import { Socket } from 'node:net';
import {
  Decoder,
  type DecoderHandlers,
  type DecoderOptions,
  Encoder,
  type MessageArguments,
  type Role
} from 'framemask';

/** Accepts only a value whose type is exactly `Expected`. */
function isExactly<Expected>() {
  return <Actual>(_value: Actual, ..._same: Same<Actual, Expected> extends true ? [] : [never]): void => {};
}
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const encoder = new Encoder({ role: 'server' });

// The echo of README.md.
new Decoder({
  role: 'server',
  onMessage(data, isBinary) {
    if (isBinary) encoder.binary(data);
    else encoder.text(data);
  },
  onPing: (payload) => encoder.pong(payload),
  onClose: (code) => encoder.close(code === 1005 ? undefined : code),
  onError: (error) => encoder.close(error.closeCode)
});

// The kind of message narrows its data, in a method as in an arrow function.
new Decoder({
  role: 'server',
  onMessage(data, isBinary) {
    isExactly<string | Buffer>()(data);
    if (isBinary) isExactly<Buffer>()(data);
    else isExactly<string>()(data);
    isExactly<undefined>()(this.context);
  }
});
new Decoder({
  role: 'client',
  onMessage: (data, isBinary) => {
    if (!isBinary) {
      isExactly<string>()(data);
      return;
    }
    isExactly<Buffer>()(data);
  }
});
new Decoder({
  role: 'server',
  onMessage: (...message) => {
    if (message[1]) isExactly<Buffer>()(message[0]);
    else isExactly<string>()(message[0]);
  }
});

// Text as Buffers, wherever the option stands.
new Decoder({
  role: 'server',
  onMessage(data, isBinary) {
    isExactly<Buffer>()(data);
    isExactly<boolean>()(isBinary);
  },
  text: 'buffer'
});
new Decoder({ text: 'buffer', role: 'server', onMessage: (data) => isExactly<Buffer>()(data) });
new Decoder({ text: 'string', role: 'server', onMessage: (data) => isExactly<string | Buffer>()(data) });

// The frames of an extension of one's own.
new Decoder({
  role: 'server',
  rsv1: true,
  onFrame(firstByte, bytes, start, end) {
    isExactly<number>()(firstByte);
    isExactly<Buffer>()(bytes.subarray(start, end));
    isExactly<number>()(this.framesRead);
  }
});

// Options that are known only when the program runs.
declare const role: Role;
declare const someText: 'string' | 'buffer';
declare const maybeText: 'buffer' | undefined;
new Decoder({
  role,
  text: someText,
  onMessage(data, isBinary) {
    isExactly<string | Buffer>()(data);
    if (isBinary) isExactly<Buffer>()(data);
    else isExactly<string | Buffer>()(data);
  }
});
new Decoder({ role, text: maybeText, onMessage: (data) => isExactly<string | Buffer>()(data) });

// Each option may be undefined, also under exactOptionalPropertyTypes.
new Decoder({
  role: 'server',
  maxPayload: undefined,
  maxFragments: undefined,
  text: undefined,
  rsv1: undefined,
  trace: { id: undefined },
  context: undefined,
  onMessage: undefined,
  onPing: undefined,
  onPong: undefined,
  onClose: undefined,
  onError: undefined,
  onFrame: undefined
});

// The context.
class Connection {
  readonly socket = new Socket();
  readonly encoder = new Encoder({ role: 'server', writable: this.socket });
  readonly inferred = new Decoder({
    role: 'server',
    context: this,
    onMessage(data, isBinary) {
      if (isBinary) this.context.encoder.binary(data);
      else this.context.greet(data);
      this.pause();
    },
    onPing: (payload) => this.encoder.pong(payload)
  });
  readonly named: Decoder<Connection> = new Decoder({
    role: 'server',
    text: 'buffer',
    context: this,
    onMessage: (data) => {
      isExactly<Buffer>()(data);
      this.named.stop();
    },
    onError(error) {
      this.context.encoder.close(error.closeCode);
    }
  });
  readonly explicit = new Decoder<Connection, 'buffer'>({
    role: 'server',
    text: 'buffer',
    context: this,
    onMessage(data, isBinary) {
      isExactly<Connection>()(this.context);
      isExactly<Buffer>()(data);
      isExactly<boolean>()(isBinary);
    }
  });

  greet(name: string): void {
    this.encoder.text(name);
  }
}
isExactly<Connection>()(new Decoder({ role: 'server', context: new Connection() }).context);
isExactly<undefined>()(new Decoder({ role: 'server' }).context);
isExactly<number>()(new Decoder({ role: 'server', context: 1 }).context);
declare const maybe: Connection | undefined;
isExactly<Connection | undefined>()(new Decoder({ role: 'server', context: maybe }).context);
new Decoder<Connection | undefined>({ role: 'server' }).context = new Connection();
const any: Decoder<unknown> = new Decoder({ role: 'server', context: new Connection(), text: 'buffer' });
isExactly<Role>()(any.role);

// Options and handlers that are written apart from the call.
const options: DecoderOptions<Connection> = {
  role: 'server',
  onMessage(data, isBinary) {
    if (!isBinary) this.context.greet(data);
  }
};
new Decoder({ ...options, context: new Connection() });
const handlers: DecoderHandlers<Connection> = { onPing: (payload) => void encoder.pong(payload) };
new Decoder({ role: 'server', ...handlers, context: new Connection() });
function onMessage(this: Decoder<Connection>, data: string | Buffer, isBinary: boolean): void {
  if (!isBinary && typeof data === 'string') this.context.greet(data);
}
new Decoder({ role: 'server', context: new Connection(), onMessage });
function collect(...[data, isBinary]: MessageArguments): void {
  if (isBinary) encoder.binary(data);
  else isExactly<string>()(data);
}
new Decoder({ role: 'server', onMessage: collect });
interface MyOptions extends DecoderOptions<Connection> {
  port: number;
}
const mine = (options: MyOptions): Decoder<Connection> => new Decoder({ ...options, context: new Connection() });
console.log(mine);
class Named extends Decoder<Connection> {
  name = '';
}
console.log(new Named({ role: 'server', context: new Connection() }).context.encoder);

// @ts-expect-error: the role must be given
new Decoder({});
// @ts-expect-error: no such role
new Decoder({ role: 'peer' });
// @ts-expect-error: the options must be given
new Decoder();
// @ts-expect-error: a Connection can't be omitted
new Decoder<Connection>({ role: 'server' });
// @ts-expect-error: nor can the option that makes text a Buffer
new Decoder<undefined, 'buffer'>({ role: 'server' });
// @ts-expect-error: handlers are functions, or undefined
new Decoder({ role: 'server', onPing: null });
// @ts-expect-error: binary messages are Buffers
new Decoder({ role: 'server', onMessage: (data: string) => console.log(data) });
// @ts-expect-error: no such option
new Decoder({ role: 'server', maxPayLoad: 1 });
// @ts-expect-error: no such choice
new Decoder({ role: 'server', text: 'bytes' });
// @ts-expect-error: there is no context
new Decoder({ role: 'server', onPing: function () { this.context.encoder; } }); // biome-ignore format: one line
// @ts-expect-error: whether it is open is for the decoder to say
new Decoder({ role: 'server' }).closed = true;
// @ts-expect-error: bytes only
new Decoder({ role: 'server' }).write('text');
