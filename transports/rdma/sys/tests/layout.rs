//! Checks that the handwritten types have the layout of the libraries' headers. A C program prints
//! the headers' layout; where they are not installed, the test is skipped with a message.

use scurry_rdma_sys::{cm, verbs};
use std::fmt::Write as _;
use std::fs;
use std::mem::{offset_of, size_of};
use std::process::Command;

/// The lines to compare, each "TYPE size N" or "TYPE FIELD N", and the C statements that print the
/// same lines.
#[derive(Default)]
struct Layout {
    ours: String,
    theirs: String,
}

macro_rules! compare {
    ($layout:ident, $module:ident :: $name:ident $(, $field:ident as $path:literal)*) => {
        $(
            let at = offset_of!($module::$name, $field);
            let line = (stringify!($name), $path);
            writeln!($layout.ours, "{} {} {at}", line.0, line.1).unwrap();
            writeln!(
                $layout.theirs,
                "printf(\"{0} {1} %zu\\n\", offsetof(struct {0}, {1}));", line.0, line.1
            )
            .unwrap();
        )*
    };
    ($layout:ident, whole $module:ident :: $name:ident $(, $field:ident as $path:literal)*) => {
        let (name, size) = (stringify!($name), size_of::<$module::$name>());
        writeln!($layout.ours, "{name} size {size}").unwrap();
        writeln!($layout.theirs, "printf(\"{name} size %zu\\n\", sizeof(struct {name}));").unwrap();
        compare!($layout, $module :: $name $(, $field as $path)*);
    };
}

macro_rules! compare_numbers {
    ($layout:ident, $($module:ident :: $name:ident),*) => {
        $(
            let name = stringify!($name);
            writeln!($layout.ours, "{name} {}", i64::from($module::$name)).unwrap();
            writeln!($layout.theirs, "printf(\"{name} %lld\\n\", (long long){name});").unwrap();
        )*
    };
}

fn layout() -> Layout {
    let mut layout = Layout::default();
    compare!(layout, whole verbs::ibv_context_ops, poll_cq as "poll_cq",
        req_notify_cq as "req_notify_cq", post_send as "post_send", post_recv as "post_recv");
    compare!(layout, verbs::ibv_context, device as "device", ops as "ops");
    compare!(layout, whole verbs::ibv_device_attr, max_mr_size as "max_mr_size",
        max_qp as "max_qp", max_qp_wr as "max_qp_wr", max_cq as "max_cq", max_cqe as "max_cqe",
        max_mr as "max_mr", max_pd as "max_pd");
    compare!(layout, whole verbs::ibv_pd, context as "context");
    compare!(layout, whole verbs::ibv_mr, context as "context", pd as "pd", addr as "addr",
        length as "length", lkey as "lkey", rkey as "rkey");
    compare!(layout, whole verbs::ibv_comp_channel, context as "context", fd as "fd");
    compare!(layout, verbs::ibv_cq, context as "context", channel as "channel", cqe as "cqe");
    compare!(layout, verbs::ibv_qp, context as "context", pd as "pd", qp_num as "qp_num");
    compare!(layout, whole verbs::ibv_qp_cap, max_send_wr as "max_send_wr",
        max_recv_wr as "max_recv_wr", max_send_sge as "max_send_sge",
        max_recv_sge as "max_recv_sge", max_inline_data as "max_inline_data");
    compare!(layout, whole verbs::ibv_qp_init_attr, qp_context as "qp_context",
        send_cq as "send_cq", recv_cq as "recv_cq", srq as "srq", cap as "cap",
        qp_type as "qp_type", sq_sig_all as "sq_sig_all");
    compare!(layout, whole verbs::ibv_sge, addr as "addr", length as "length", lkey as "lkey");
    compare!(layout, whole verbs::ibv_send_wr, wr_id as "wr_id", next as "next",
        sg_list as "sg_list", num_sge as "num_sge", opcode as "opcode",
        send_flags as "send_flags", imm_data as "imm_data",
        remote_addr as "wr.rdma.remote_addr", rkey as "wr.rdma.rkey");
    compare!(layout, whole verbs::ibv_recv_wr, wr_id as "wr_id", next as "next",
        sg_list as "sg_list", num_sge as "num_sge");
    compare!(layout, whole verbs::ibv_wc, wr_id as "wr_id", status as "status",
        opcode as "opcode", vendor_err as "vendor_err", byte_len as "byte_len",
        imm_data as "imm_data", qp_num as "qp_num", wc_flags as "wc_flags");
    compare!(layout, whole cm::rdma_event_channel, fd as "fd");
    compare!(layout, cm::rdma_cm_id, verbs as "verbs", channel as "channel",
        context as "context", qp as "qp", route as "route", ps as "ps", port_num as "port_num",
        pd as "pd");
    compare!(layout, whole cm::rdma_addr, src as "src_addr", dst as "dst_addr");
    compare!(layout, whole cm::rdma_route, addr as "addr");
    compare!(layout, whole cm::rdma_conn_param, private_data as "private_data",
        private_data_len as "private_data_len", responder_resources as "responder_resources",
        initiator_depth as "initiator_depth", flow_control as "flow_control",
        retry_count as "retry_count", rnr_retry_count as "rnr_retry_count", srq as "srq",
        qp_num as "qp_num");
    compare!(layout, cm::rdma_cm_event, id as "id", listen_id as "listen_id", event as "event",
        status as "status", conn as "param.conn");
    compare_numbers!(
        layout,
        verbs::IBV_WC_SUCCESS,
        verbs::IBV_WC_WR_FLUSH_ERR,
        verbs::IBV_WC_RECV,
        verbs::IBV_WC_RECV_RDMA_WITH_IMM,
        verbs::IBV_WR_RDMA_WRITE,
        verbs::IBV_WR_RDMA_WRITE_WITH_IMM,
        verbs::IBV_WR_SEND,
        verbs::IBV_SEND_SIGNALED,
        verbs::IBV_SEND_INLINE,
        verbs::IBV_ACCESS_LOCAL_WRITE,
        verbs::IBV_ACCESS_REMOTE_WRITE,
        verbs::IBV_QPT_RC,
        cm::RDMA_CM_EVENT_ADDR_RESOLVED,
        cm::RDMA_CM_EVENT_ROUTE_RESOLVED,
        cm::RDMA_CM_EVENT_CONNECT_REQUEST,
        cm::RDMA_CM_EVENT_ESTABLISHED,
        cm::RDMA_CM_EVENT_DISCONNECTED,
        cm::RDMA_CM_EVENT_ADDR_CHANGE,
        cm::RDMA_CM_EVENT_TIMEWAIT_EXIT,
        cm::RDMA_PS_TCP,
        cm::RDMA_OPTION_ID,
        cm::RDMA_OPTION_ID_REUSEADDR
    );
    layout
}

#[test]
fn the_types_lie_as_the_headers_say() {
    let Layout { ours, theirs } = layout();
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("layout.c"), directory.path().join("layout"));
    let includes = "#include <stddef.h>\n#include <stdio.h>\n#include <rdma/rdma_cma.h>\n";
    fs::write(&source, format!("{includes}int main(void) {{\n{theirs}return 0;\n}}\n")).unwrap();
    if !headers_are_here() {
        eprintln!("skipped: no headers of rdma-core here (Debian: libibverbs-dev, librdmacm-dev)");
        return;
    }
    let built = Command::new("cc").arg(&source).arg("-o").arg(&program).status().unwrap();
    assert!(built.success(), "the C program does not compile");
    let said = Command::new(&program).output().unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap(), ours);
}

fn headers_are_here() -> bool {
    let mut compiler = Command::new("cc");
    compiler.args(["-E", "-x", "c", "-include", "rdma/rdma_cma.h", "/dev/null", "-o", "/dev/null"]);
    compiler.output().is_ok_and(|output| output.status.success())
}
