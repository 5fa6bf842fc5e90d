import WebSocket from './ws.js';

export import connectionId = WebSocket.connectionId;
export import createWebSocketStream = WebSocket.createWebSocketStream;
export import extension = WebSocket.extension;
export import PerMessageDeflate = WebSocket.PerMessageDeflate;
export import Receiver = WebSocket.Receiver;
export import report = WebSocket.report;
export import Sender = WebSocket.Sender;
export import Server = WebSocket.Server;
export import subprotocol = WebSocket.subprotocol;
export import WebSocketServer = WebSocket.WebSocketServer;

export import AddressInfo = WebSocket.AddressInfo;
export import BinaryType = WebSocket.BinaryType;
export import CertMeta = WebSocket.CertMeta;
export import ClientOptions = WebSocket.ClientOptions;
export import CloseEvent = WebSocket.CloseEvent;
export import ConnectionOptions = WebSocket.ConnectionOptions;
export import Data = WebSocket.Data;
export import ErrorEvent = WebSocket.ErrorEvent;
export import Event = WebSocket.Event;
export import EventListenerOptions = WebSocket.EventListenerOptions;
export import FinishRequestCallback = WebSocket.FinishRequestCallback;
export import MessageEvent = WebSocket.MessageEvent;
export import PerMessageDeflateOptions = WebSocket.PerMessageDeflateOptions;
export import RawData = WebSocket.RawData;
export import Report = WebSocket.Report;
export import SendOptions = WebSocket.SendOptions;
export import ServerOptions = WebSocket.ServerOptions;
export import VerifyClientCallbackAsync = WebSocket.VerifyClientCallbackAsync;
export import VerifyClientCallbackSync = WebSocket.VerifyClientCallbackSync;
export import WebSocketEventMap = WebSocket.WebSocketEventMap;

export { WebSocket };
export default WebSocket;
